// Recommendations: pick a user or items, see what is recommended and why, and what is similar.

import { count, h, head } from "./element";
import type { Keep, View } from "./place";
import { itemsWith, recommend, similarItems, usersWith, type Item, type Recommended, type Recommender, type Scored } from "./server";

const TOP = 10;
const PAUSE = 150;

const title = ({ item, name }: Item): string => name ?? item;

/** A box that offers what the server finds; `chosen` is called with a name when Enter is pressed or an offer is taken. */
function box(id: string, what: string, hint: string, offers: (part: string) => Promise<[string, string | undefined][]>, chosen: (name: string) => void, failed: (error: unknown) => void): [HTMLElement, HTMLInputElement] {
  const list = h("datalist", { id: `${id}-offers` });
  let [timer, asked] = [0, 0];
  let names: string[] = [];
  const offer = async () => {
    const ask = ++asked;
    try {
      const found = field.value === "" ? [] : await offers(field.value);
      if (ask !== asked) return;
      names = found.map(([name]) => name);
      list.replaceChildren(...found.map(([value, label]) => h("option", { value, label })));
    } catch (error) {
      failed(error);
    }
  };
  const take = () => {
    if (field.value.trim() !== "") chosen(field.value.trim());
  };
  const typed = () => {
    clearTimeout(timer);
    // An offer that is taken comes as a whole.
    if (names.includes(field.value)) return take();
    timer = setTimeout(() => void offer(), PAUSE);
  };
  const entered = (event: KeyboardEvent) => {
    if (event.key === "Enter") take();
  };
  const field = h("input", { id, list: list.id, placeholder: hint, autocomplete: "off", autocapitalize: "none", spellcheck: "false", oninput: typed, onkeydown: entered });
  return [h("div", {}, h("label", { for: id }, what), field, list), field];
}

/** Items with a bar each: how much they add to a score. */
function reasons(all: Scored[], open: (item: string) => void): HTMLElement {
  const most = Math.max(...all.map(({ score }) => score), 1e-9);
  const row = (one: Scored) =>
    h(
      "li",
      {},
      h("button", { type: "button", class: "link word", onclick: () => open(one.item) }, title(one)),
      h("span", { class: "axis", "aria-hidden": "true" }, h("span", { class: "bar for", style: `left:0;width:${(100 * one.score) / most}%` })),
      h("span", { class: "number" }, `+${one.score.toFixed(2)}`),
    );
  return h("section", {}, h("h3", {}, "Because of"), head("Item", "Adds to the score"), h("ul", { class: "words", style: "--axis:0%" }, ...all.map(row)));
}

export function recommendView(model: Recommender, keep: Keep, failed: (error: unknown) => void): View {
  let items: string[] = [];
  let shown: string | null = null;
  let [asked, askedItem] = [0, 0];
  let found: Recommended[] = [];
  const [userRow, user] = box("user", "User", "A user of the training data", usersWith, (name) => use(name, []), failed);
  const [itemRow, item] = box("item", "Or items, for somebody new", "An item to add", itemsWith, (name) => add(name), failed);
  const chips = h("ul", { class: "chips", "aria-label": "Chosen items" });
  const status = h("p", { class: "quiet", role: "status" });
  const heads = head("Recommended item", "Score");
  const list = h("ol", { class: "classes", "aria-label": "Recommendations" });
  const detail = h("aside", { class: "detail", "aria-label": "About the item", "aria-live": "polite", hidden: true });

  const place = (step = false) => keep({ user: user.value.trim(), items: items.length > 0 ? JSON.stringify(items) : "", item: shown ?? "" }, step);
  const use = (name: string, others: string[]) => {
    user.value = name;
    item.value = "";
    items = others;
    shown = null;
    void now(true);
  };
  const add = (name: string) => use("", items.includes(name) ? items : [...items, name]);
  const pressed = () => {
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["item"] === shown));
  };

  const row = (one: Recommended) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-item": one.item, "aria-pressed": "false", onclick: () => void open(one.item, true) },
        h("span", { class: "name" }, title(one)),
        h("span", { class: "number" }, one.score.toFixed(2)),
        one.because.length > 0 && h("span", { class: "why" }, `because of ${one.because.map(title).join(", ")}`),
      ),
    );

  /** Shows an item: why it is recommended, if it is, and what is similar. */
  const open = async (name: string, step: boolean) => {
    const ask = ++askedItem;
    try {
      const about = await similarItems(name, TOP);
      if (ask !== askedItem) return;
      shown = name;
      const why = found.find((one) => one.item === name)?.because ?? [];
      const neighbour = (one: Scored) =>
        h("li", {}, h("button", { type: "button", class: "link", onclick: () => void open(one.item, true) }, title(one)), h("span", { class: "number" }, one.score.toFixed(3)));
      detail.replaceChildren(
        h("h2", { tabindex: "-1" }, title(about)),
        h("p", { class: "quiet" }, `${count(about.count)} of ${count(model.users)} users have it. `, h("button", { type: "button", class: "link", onclick: () => add(name) }, "Recommend for this item")),
        ...(why.length > 0 ? [reasons(why, (other) => void open(other, true))] : []),
        h("section", {}, h("h3", {}, "Similar items"), head("Item", "Cosine"), h("ul", { class: "rivals" }, ...about.similar.map(neighbour))),
      );
      detail.hidden = false;
      pressed();
      place(step);
      if (step) detail.querySelector<HTMLElement>("h2")?.focus({ preventScroll: innerWidth >= 900 });
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : "";
    }
  };

  const now = async (step = false) => {
    const ask = ++asked;
    askedItem++;
    const name = user.value.trim();
    const remove = (name: string) =>
      h("li", {}, h("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => use("", items.filter((other) => other !== name)) }, `${name} ×`));
    chips.replaceChildren(...items.map(remove));
    chips.hidden = items.length === 0;
    place(step);
    if (shown === null) detail.hidden = true;
    if (name === "" && items.length === 0) {
      found = [];
      list.replaceChildren();
      heads.hidden = true;
      status.textContent = "";
      return;
    }
    try {
      const answer = await recommend(name === "" ? { items } : { user: name }, TOP);
      if (ask !== asked) return;
      found = answer.items;
      list.replaceChildren(...found.map(row));
      heads.hidden = false;
      const has = answer.has.slice(0, 5).map(title).join(", ");
      const more = answer.has.length > 5 ? ` and ${count(answer.has.length - 5)} more` : "";
      status.textContent = name === "" ? "" : has === "" ? "Has no items." : `Has ${has}${more}.`;
      if (shown !== null) void open(shown, false);
    } catch (error) {
      if (ask !== asked) return;
      list.replaceChildren();
      heads.hidden = true;
      status.textContent = error instanceof Error ? error.message : "";
    }
  };

  const example = (name: string) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => use(name, []) }, name));
  const opening = h(
    "section",
    { class: "opening" },
    h("h2", {}, model.name),
    h("p", {}, `Recommends ${count(model.items)} items, to ${count(model.users)} users and to anybody who names some items, and says why. It learned from ${count(model.interactions)} interactions.`),
    h("p", { class: "quiet" }, "Some users, to try:"),
    h("ul", { class: "examples inline", "aria-label": "Examples" }, ...model.examples.map(example)),
  );
  heads.hidden = true;
  const left = h("div", { class: "ask" }, h("div", { class: "boxes" }, userRow, itemRow), chips, status, heads, list);
  return {
    element: h("div", {}, opening, h("div", { class: "columns" }, left, detail)),
    open({ user: name, items: others, item: about }) {
      user.value = name ?? "";
      items = chosen(others);
      shown = about ?? null;
      void now();
    },
  };
}

/** The items in an address, which anybody may have written. */
function chosen(text: string | undefined): string[] {
  try {
    const parsed: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(parsed) ? parsed.filter((item) => typeof item === "string") : [];
  } catch {
    return [];
  }
}
