// Words in the plane: their places are given, and each name stands where it hides no other, if there is such a side.

import { draw } from "./element";

const [WIDTH, HEIGHT, MARGIN, LEAST] = [560, 440, 56, 300];
const [LETTER, LINE, GAP] = [7.4, 16, 9];

/** A name that has no room beside its point moves up or down by so many lines at most. */
const MOVES = 6;

type Box = [left: number, top: number, right: number, bottom: number];

const overlaps = (a: Box, b: Box) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** From the places to points of the drawing, with the same scale along both axes. */
function fitted(places: [number, number][], width: number): [number, number][] {
  const range = (axis: 0 | 1) => [Math.min(...places.map((p) => p[axis])), Math.max(...places.map((p) => p[axis]))] as const;
  const [[left, right], [low, high]] = [range(0), range(1)];
  const scale = Math.min((width - 2 * MARGIN) / Math.max(right - left, 1e-9), (HEIGHT - 2 * MARGIN) / Math.max(high - low, 1e-9));
  return places.map(([x, y]) => [width / 2 + scale * (x - (left + right) / 2), HEIGHT / 2 - scale * (y - (low + high) / 2)]);
}

/** The first `asked` words are those that were asked for; `lines` join pairs of words by their numbers. */
export function wordMap(words: string[], places: [number, number][], asked: number, lines: [number, number][], open: (word: string) => void): SVGElement {
  // As wide as it is shown, so that letters have their size on a phone too.
  const width = Math.max(LEAST, Math.min(WIDTH, innerWidth - 40));
  const points = fitted(places, width);
  const taken: Box[] = points.map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
  const named = words.map((word, at) => {
    const [x, y] = points[at]!;
    const wide = LETTER * word.length;
    const sides = (down: number): [anchor: string, x: number, y: number, box: Box][] => [
      ["start", x + GAP, y + down + 4, [x + GAP, y + down - LINE / 2, x + GAP + wide, y + down + LINE / 2]],
      ["end", x - GAP, y + down + 4, [x - GAP - wide, y + down - LINE / 2, x - GAP, y + down + LINE / 2]],
    ];
    const moves = Array.from({ length: 2 * MOVES + 1 }, (_, n) => LINE * (n % 2 === 0 ? n / 2 : -(n + 1) / 2));
    const inside = moves.flatMap(sides).filter(([, , , box]) => box[0] > 2 && box[2] < width - 2 && box[1] > 2 && box[3] < HEIGHT - 2);
    const [anchor, left, top, box] = inside.find(([, , , box]) => !taken.some((other) => overlaps(box, other))) ?? inside[0] ?? sides(0)[0]!;
    taken.push(box);
    const kind = at < asked ? "asked" : "found";
    return draw(
      "g",
      { class: kind, onclick: () => open(word) },
      draw("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 4 }),
      draw("text", { x: left.toFixed(1), y: top.toFixed(1), "text-anchor": anchor }, word),
    );
  });
  const joined = lines.map(([from, to]) => {
    const [[x1, y1], [x2, y2]] = [points[from]!, points[to]!];
    return draw("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1) });
  });
  const name = `A map of ${words.length} words`;
  return draw("svg", { class: "map", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": name }, ...joined, ...named);
}
