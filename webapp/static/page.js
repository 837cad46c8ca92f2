// Small comforts; every page works without them.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.getElementById("q");
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
});
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.classList.add("copied");
  });
}
// Of years that do not fit, the latest are in view.
for (const bars of document.querySelectorAll(".bars")) bars.scrollLeft = bars.scrollWidth;
// Menus close by a click elsewhere and by Escape.
const close = (kept) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (menu !== kept) menu.open = false;
};
document.addEventListener("click", (event) => close(event.target.closest(".menu")));
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && document.querySelector(".menu[open]");
  if (!open) return;
  close();
  open.querySelector("summary").focus();
});
// The slider goes from each version of a page to the next.
const compared = document.getElementById("compared");
if (compared) {
  const slider = compared.querySelector("input");
  slider.value = compared.elements.new.selectedIndex;
  slider.hidden = false;
  slider.addEventListener("change", () => {
    compared.elements.old.selectedIndex = slider.value - 1;
    compared.elements.new.selectedIndex = slider.value;
    compared.requestSubmit();
  });
}
