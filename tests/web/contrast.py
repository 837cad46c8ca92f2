"""A script that finds texts with too little contrast to their background."""

CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const pixel = (colour, under) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const fill of [under, colour]) { canvas.fillStyle = fill; canvas.fillRect(0, 0, 1, 1); }
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const rgb = (data) => `rgb(${data[0]} ${data[1]} ${data[2]})`;
  const light = (data) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const part = data[i] / 255;
    return sum + weight * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ground = (element) => {
    const above = element.parentElement ? ground(element.parentElement) : "rgb(255 255 255)";
    return rgb(pixel(getComputedStyle(element).backgroundColor, above));
  };
  const faults = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || element.closest(".hidden, .skip, script")) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    seen += 1;
    const under = ground(element);
    const both = [light(pixel(style.color, under)), light(pixel(under, "white"))];
    const pair = both.sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5))
      faults.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return {seen, faults};
}"""
