// Elements without markup in strings: text is always text.

type Child = Node | string | null | undefined | false;

/** An element with attributes (a function under `on…` is a listener) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return set(document.createElement(tag), attributes, children);
}

function set<E extends Element>(element: E, attributes: Record<string, unknown>, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

/** An element of a drawing. */
export function draw(tag: string, attributes: Record<string, unknown> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return set(element, attributes, children);
}

/** What stands above a list: the names of its columns. */
export const head = (name: string, number: string): HTMLElement => h("p", { class: "head" }, h("span", {}, name), h("span", {}, number));

/** Markup that this server has made, such as its charts. */
export function markup(html: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

const whole = new Intl.NumberFormat("en");

/** With its thousands apart. */
export const count = (number: number): string => whole.format(number);

/** As a share: 42%, 3.1%, 0.02%. */
export function percent(share: number): string {
  const value = 100 * share;
  const digits = value >= 9.95 ? 0 : value >= 0.095 ? 1 : 2;
  return value > 0 && value < 0.005 ? "<0.01%" : `${value.toFixed(digits)}%`;
}

/** With its sign, and a minus as wide as the plus. */
export const signed = (number: number): string => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;
