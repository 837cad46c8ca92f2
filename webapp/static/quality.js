// The slider over two screenshots; without scripts they stand side by side.
const slider = document.getElementById("slider");
if (slider) {
  const share = slider.querySelector("input");
  const pictures = slider.querySelector(".slider-pictures");
  const above = slider.querySelector(".slider-above");
  const line = slider.querySelector(".slider-line");
  const show = () => {
    above.style.clipPath = `inset(0 ${100 - share.value}% 0 0)`;
    line.style.left = `${share.value}%`;
    share.setAttribute("aria-valuetext", share.dataset.told.replace("0", share.value));
  };
  const move = (event) => {
    const box = pictures.getBoundingClientRect();
    share.value = Math.round((100 * (event.clientX - box.left)) / box.width);
    show();
  };
  share.addEventListener("input", show);
  pictures.addEventListener("pointerdown", (event) => {
    pictures.setPointerCapture(event.pointerId);
    move(event);
  });
  pictures.addEventListener("pointermove", (event) => {
    if (pictures.hasPointerCapture(event.pointerId)) move(event);
  });
  slider.hidden = false;
  show();
}
// Reviewing by keyboard, and a part of a screenshot marked by dragging.
const review = document.getElementById("review-form");
if (review) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`)?.click();
  });
  const mark = document.createElement("span");
  mark.className = "review-mark";
  for (const box of document.querySelectorAll(".review-picture")) {
    const place = (event) => {
      const room = box.getBoundingClientRect();
      const percent = (value, size) => Math.min(100, Math.max(0, (100 * value) / size));
      return [percent(event.clientX - room.left, room.width), percent(event.clientY - room.top, room.height)];
    };
    let start = null;
    box.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      box.setPointerCapture(event.pointerId);
      start = place(event);
      box.append(mark);
    });
    box.addEventListener("pointermove", (event) => {
      if (!start || !box.hasPointerCapture(event.pointerId)) return;
      const end = place(event);
      const corner = [0, 1].map((at) => Math.min(start[at], end[at]));
      const size = [0, 1].map((at) => Math.abs(start[at] - end[at]));
      ["left", "top", "width", "height"].forEach((name, at) => { mark.style[name] = `${[...corner, ...size][at]}%`; });
      review.elements.marked.value = [...corner, ...size].map((one) => one.toFixed(1)).join(",");
    });
    box.addEventListener("pointerup", () => { start = null; });
  }
}
