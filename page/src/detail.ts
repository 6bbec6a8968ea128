// A class: the words of the text that speak for and against it, those that do so in general, its rivals, and how often it occurs.

import { count, h, head, percent, signed } from "./element";
import { explain, type Class, type Explanation, type Input, type Word } from "./server";

type Weighed = { word: Word; number: number };

/** Words with a bar each, on one scale: to the right of the axis what speaks for the class, to the left what speaks against it. */
function bars(title: string, unit: string, words: Weighed[]): HTMLElement {
  const numbers = words.map(({ number }) => number);
  const [least, most] = [Math.min(...numbers, 0), Math.max(...numbers, 1e-9)];
  const share = (number: number) => (100 * number) / (most - least);
  const item = ({ word, number }: Weighed) => {
    const place = `left:${share(Math.min(number, 0) - least)}%;width:${share(Math.abs(number))}%`;
    const bar = h("span", { class: `bar ${number < 0 ? "against" : "for"}`, style: place });
    return h(
      "li",
      {},
      h("span", { class: "word" }, word.feature),
      h("span", { class: "axis", "aria-hidden": "true" }, bar),
      h("span", { class: "number" }, signed(number)),
    );
  };
  const list = h("ul", { class: "words", style: `--axis:${share(-least)}%` }, ...words.map(item));
  return h("section", {}, h("h3", {}, title), head("Word", unit), list);
}

/** The text, its words shaded by how much they say. */
function shaded(text: string, words: Weighed[]): HTMLElement {
  const most = Math.max(...words.map(({ number }) => Math.abs(number)), 1e-9);
  const number = new Map(words.map(({ word, number }) => [word.feature, number]));
  const pieces = text.slice(0, 600).split(/([\p{L}\p{N}_]+)/u).map((piece) => {
    const value = number.get(piece.toLowerCase()) ?? 0;
    const share = Math.abs(value) / most;
    if (share < 0.02) return piece;
    return h("mark", { class: value < 0 ? "against" : "for", style: `--share:${(55 * share).toFixed(0)}%`, title: signed(value) }, piece);
  });
  return h("p", { class: "shaded" }, ...pieces, text.length > 600 && "…");
}

function about(found: Explanation, input: Input | null, open: (label: string) => void): Node[] {
  const products = found.row && [
    ...found.row.for.map((word) => ({ word, number: word.product })),
    ...found.row.against.map((word) => ({ word, number: word.product })).reverse(),
  ];
  const weights = [
    ...found.general.for.map((word) => ({ word, number: word.weight })),
    ...found.general.against.slice(0, 4).map((word) => ({ word, number: word.weight })).reverse(),
  ];
  const nothing = products?.length === 0 && h("p", { class: "quiet" }, "No word here speaks for it or against it.");
  const rival = (rival: Class) =>
    h(
      "li",
      {},
      h("button", { type: "button", class: "link", onclick: () => open(rival.class) }, rival.name ?? rival.class),
      h("span", { class: "number" }, count(rival.count)),
    );
  const name = found.name ?? found.class;
  return [
    h("h2", { tabindex: "-1" }, name),
    h(
      "p",
      { class: "quiet" },
      name !== found.class && `${found.class} · `,
      `${count(found.count)} of ${count(found.rows)} training rows (${percent(found.count / found.rows)})`,
    ),
    ...(products && input && "text" in input ? [shaded(input.text, products)] : []),
    ...(products?.length ? [bars("In this text", "Adds to the score", products)] : []),
    ...(nothing ? [nothing] : []),
    bars("In general", "Weight", weights),
    ...(found.rivals.length
      ? [h("section", {}, h("h3", {}, "Nearest rivals"), head("Class", "Training rows"), h("ul", { class: "rivals" }, ...found.rivals.map(rival)))]
      : []),
  ];
}

/** A place for classes, one at a time. */
export class Detail {
  readonly element = h("aside", { class: "detail", "aria-label": "About the class", "aria-live": "polite", hidden: true });
  private asked = 0;
  /** The class that is shown, or about to be. */
  label: string | null = null;

  constructor(
    private readonly failed: (error: unknown) => void,
    private readonly shown: (label: string) => void = () => {},
  ) {}

  /** Shows a class; the focus goes there if somebody asked for it. */
  async show(label: string, input: Input | null, focus = true): Promise<void> {
    const asked = ++this.asked;
    this.label = label;
    try {
      const found = await explain(label, input);
      if (asked !== this.asked) return;
      this.element.replaceChildren(...about(found, input, (rival) => void this.show(rival, input)));
      this.element.hidden = false;
      this.shown(label);
      if (focus) this.element.querySelector<HTMLElement>("h2")?.focus({ preventScroll: innerWidth >= 900 });
    } catch (error) {
      this.failed(error);
    }
  }

  /** The same class for another text. */
  again(input: Input | null): void {
    if (this.label !== null && !this.element.hidden) void this.show(this.label, input, false);
  }

  hide(): void {
    this.asked++;
    this.label = null;
    this.element.hidden = true;
  }
}
