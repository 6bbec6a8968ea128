// Where the page is, in the part of the address behind #: `#try?text=Timber&class=wood`. So Back works, and links can be shared.

export type Params = Record<string, string>;

/** Keeps the parameters of a view in the address; with `step`, Back returns to those before. */
export type Keep = (params: Params, step?: boolean) => void;

/** What a tab shows. */
export interface View {
  element: HTMLElement;
  /** Shows what an address says. */
  open(params: Params): void;
}

/** A longer text stays out of the address, which servers and mail programs would cut. */
export const LONGEST = 2000;

export function here(): [view: string, params: Params] {
  const [view = "", query = ""] = location.hash.slice(1).split("?");
  return [view, Object.fromEntries(new URLSearchParams(query))];
}

export function address(view: string, params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value.length <= LONGEST);
  const query = new URLSearchParams(given).toString();
  return query === "" ? `#${view}` : `#${view}?${query}`;
}
