"use strict";
// The keys 0 to 3 and s press the buttons of the form.
const grades = document.getElementById("grades");
document.addEventListener("keydown", (event) => {
  if (!grades || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([hidden])")) return;
  const grade = event.key === "s" ? "skip" : event.key;
  for (const button of grades.querySelectorAll("button[name=grade]")) {
    if (button.value === grade) {
      event.preventDefault();
      button.click();
    }
  }
});
