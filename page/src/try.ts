// Type or paste a text, and see what the model says.

import { Detail } from "./detail";
import { count, h, head, percent } from "./element";
import { LONGEST, type Keep, type View } from "./place";
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

/** What the model is called and does, and texts to begin with. */
function opening(model: Model, use: (text: string) => void): HTMLElement {
  const [one, many] = model.takes_texts ? ["a text", "texts"] : ["the features of a row", "rows"];
  const does = `Finds the most probable of ${count(model.classes)} classes for ${one}, and says why. It learned them from ${count(model.rows)} ${many}.`;
  const example = (text: string) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => use(text) }, text));
  return h(
    "section",
    { class: "opening" },
    h("h2", {}, model.name),
    h("p", {}, does),
    model.examples.length > 0 && h("p", { class: "quiet" }, "Three of these, to try:"),
    model.examples.length > 0 && h("ul", { class: "examples", "aria-label": "Examples" }, ...model.examples.map(example)),
  );
}

export function tryView(model: Model, keep: Keep, failed: (error: unknown) => void): View {
  const list = h("ol", { class: "classes", "aria-label": "Most probable classes" });
  const heads = head("Class", "Probability");
  const status = h("p", { class: "quiet", role: "status" });
  const select = (label: string | null) => {
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
  };
  const detail = new Detail(failed, (label) => {
    select(label);
    keep({ text: box.value.trim(), class: label }, true);
  });
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
        { type: "button", "data-class": label, "aria-pressed": String(label === detail.label), onclick: () => void detail.show(label, current) },
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
  /** Predicts what is in the box; `step` if Back is to return to what was there before. */
  const now = async (step = false) => {
    const ask = ++asked;
    const text = box.value.trim();
    heads.hidden = text === "";
    if (text === "") {
      current = null;
      list.replaceChildren();
      detail.hide();
      status.textContent = "";
      keep({});
      return;
    }
    try {
      const input = model.takes_texts ? { text } : features(text);
      const found = await predict(input, TOP);
      if (ask !== asked) return;
      current = input;
      list.replaceChildren(...found.labels.map((_, at) => row(found, at)));
      const words = model.takes_texts ? "words" : "features";
      status.textContent = found.known === 0 ? `The model knows none of these ${words}: the classes below do not depend on them.` : "";
      keep({ text, class: detail.label ?? "" }, step);
      detail.again(current);
    } catch (error) {
      if (error instanceof Error && ask === asked) status.textContent = error.message;
      failed(error);
    }
  };
  const use = (text: string) => {
    box.value = text;
    detail.hide();
    void now(true);
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
  heads.hidden = true;
  return {
    element: h(
      "div",
      {},
      opening(model, use),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "ask" }, h("label", { for: "text" }, what), box, status, heads, list),
        detail.element,
      ),
    ),
    async open({ text, class: label }) {
      // Too long for the address, it is still here.
      if (text === undefined && box.value.trim().length > LONGEST) return;
      box.value = text ?? "";
      if (label === undefined) detail.hide();
      else detail.label = label;
      await now();
      if (label !== undefined && current !== null) void detail.show(label, current, false);
    },
  };
}
