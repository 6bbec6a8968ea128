// Look a class up by the start of its name.

import { Detail } from "./detail";
import { count, h } from "./element";
import { classes, type Class } from "./server";

export function classesView(failed: (error: unknown) => void): HTMLElement {
  const list = h("ul", { class: "classes", "aria-label": "Classes" });
  const status = h("p", { class: "quiet", role: "status" });
  const select = (label: string) => {
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
  };
  const detail = new Detail(failed, select);
  const row = (found: Class) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-class": found.class, "aria-pressed": "false", onclick: () => void detail.show(found.class, null) },
        h("span", { class: "name" }, found.name ?? found.class),
        h("span", { class: "number" }, count(found.count)),
      ),
    );
  let asked = 0;
  const find = async () => {
    const ask = ++asked;
    try {
      const found = await classes(box.value.trim());
      if (ask !== asked) return;
      list.replaceChildren(...found.classes.map(row));
      const shown = found.classes.length;
      status.textContent = shown < found.total ? `${shown} of ${count(found.total)}, the most frequent first` : `${count(found.total)} found`;
    } catch (error) {
      failed(error);
    }
  };
  const box = h("input", { id: "prefix", type: "search", placeholder: "Starts with", autocomplete: "off", oninput: () => void find() });
  void find();
  return h(
    "div",
    { class: "columns" },
    h("div", { class: "ask" }, h("label", { for: "prefix" }, "Class"), box, status, list),
    detail.element,
  );
}
