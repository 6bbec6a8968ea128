// Type or paste a text, and see what the model says.

import { Detail } from "./detail";
import { h, percent } from "./element";
import { predict, type Input, type Model, type Prediction } from "./server";

const TOP = 10;
const PAUSE = 120;

/** Features as in data files: `3:0.5 17:1`. */
function features(text: string): Input {
  const pairs = text.split(/[\s,]+/).filter(Boolean).map((pair) => {
    const [, name, value] = /^(.+):(.+)$/.exec(pair) ?? [];
    const number = Number(value);
    if (name === undefined || value === undefined || !Number.isFinite(number)) throw new Error(`“${pair}”: a feature and its value are written like 17:0.5`);
    return [name, number] as const;
  });
  return { features: Object.fromEntries(pairs) };
}

export function tryView(model: Model, failed: (error: unknown) => void): HTMLElement {
  const list = h("ol", { class: "classes", "aria-label": "Most probable classes" });
  const status = h("p", { class: "quiet", role: "status" });
  const select = (label: string) => {
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
  };
  const detail = new Detail(failed, select);
  const what = model.takes_texts ? "Text" : "Features";
  const hint = model.takes_texts ? "Type or paste a text" : "Features and their values, such as 3:0.5 17:1";
  const box = h("textarea", { id: "text", rows: "3", placeholder: hint, spellcheck: "false", autocomplete: "off", oninput: () => later() });

  const row = (found: Prediction, at: number) => {
    const label = found.labels[at] ?? "";
    const share = found.probabilities[at] ?? 0;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-class": label, "aria-pressed": "false", onclick: () => void detail.show(label, current) },
        h("span", { class: "name" }, found.names?.[at] ?? label),
        h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar for", style: `width:${100 * share}%` })),
        h("span", { class: "number" }, percent(share)),
      ),
    );
  };

  let current: Input | null = null;
  let asked = 0;
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void now(), PAUSE);
  };
  const now = async () => {
    const ask = ++asked;
    const text = box.value.trim();
    if (text === "") {
      current = null;
      list.replaceChildren();
      detail.hide();
      status.textContent = "";
      return;
    }
    try {
      const input = model.takes_texts ? { text } : features(text);
      const found = await predict(input, TOP);
      if (ask !== asked) return;
      current = input;
      const pressed = list.querySelector<HTMLElement>("[aria-pressed=true]")?.dataset["class"];
      list.replaceChildren(...found.labels.map((_, at) => row(found, at)));
      if (pressed !== undefined) select(pressed);
      detail.again(current);
      status.textContent = "";
    } catch (error) {
      if (error instanceof Error && ask === asked) status.textContent = error.message;
      failed(error);
    }
  };
  // Up and down walk through the classes, as in any list.
  list.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const buttons = [...list.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    next.focus();
  });
  return h(
    "div",
    { class: "columns" },
    h("div", { class: "ask" }, h("label", { for: "text" }, what), box, status, list),
    detail.element,
  );
}
