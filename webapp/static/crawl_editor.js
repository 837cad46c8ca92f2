// The form and the text of a specification stay in step, with a preview of what it finds: the
// service makes each from the other, as the buttons do without scripts.
const editor = document.querySelector(".editor");
const parts = ["fields", "preview"].map((name) => document.getElementById(`editor-${name}`));
let waiting = 0;
let asked = null;

async function renew(fromText) {
  asked?.abort();
  asked = new AbortController();
  const body = new FormData(editor);
  body.set("action", fromText ? "to-form" : "to-text");
  try {
    const answer = await fetch(editor.action, { method: "POST", body, signal: asked.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = (id) => page.getElementById(id);
    if (!found("text")) return;
    if (fromText) {
      for (const field of parts[0].querySelectorAll("input, textarea")) {
        const other = found(field.id);
        if (other) field.value = other.value;
      }
    } else {
      editor.elements.text.value = found("text").value;
    }
    editor.elements.shown.value = found("editor-shown").value;
    parts[1].replaceChildren(...found("editor-preview").childNodes);
  } catch {
    // something newer was typed, or the service is away
  }
}

if (editor && parts[0]) {
  for (const button of editor.querySelectorAll(".without-script")) button.hidden = true;
  editor.addEventListener("input", (event) => {
    clearTimeout(waiting);
    const fromText = event.target.id === "text";
    if (fromText || parts[0].contains(event.target)) waiting = setTimeout(renew, 500, fromText);
  });
}
