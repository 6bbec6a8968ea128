// Look a class up by any part of its label or name.

import { Detail } from "./detail";
import { count, h, head } from "./element";
import type { Keep, View } from "./place";
import { classes, type Class } from "./server";

export function classesView(keep: Keep, failed: (error: unknown) => void): View {
  const list = h("ul", { class: "classes", "aria-label": "Classes" });
  const status = h("p", { class: "quiet", role: "status" });
  const select = (label: string | null) => {
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
  };
  const detail = new Detail(failed, (label) => {
    select(label);
    keep({ search: box.value.trim(), class: label }, true);
  });
  const row = (found: Class) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-class": found.class, "aria-pressed": String(found.class === detail.label), onclick: () => void detail.show(found.class, null) },
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
  const typed = () => {
    keep({ search: box.value.trim(), class: detail.label ?? "" });
    void find();
  };
  const box = h("input", { id: "search", type: "search", placeholder: "Any part of a label or name", autocomplete: "off", oninput: typed });
  return {
    element: h(
      "div",
      { class: "columns" },
      h("div", { class: "ask" }, h("label", { for: "search" }, "Class"), box, status, head("Class", "Training rows"), list),
      detail.element,
    ),
    open({ search = "", class: label }) {
      box.value = search;
      void find();
      if (label === undefined) {
        detail.hide();
        select(null);
      } else void detail.show(label, null, false);
    },
  };
}
