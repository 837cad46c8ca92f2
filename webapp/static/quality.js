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
