/** A difference between two runs, as the API reports it, in words. Pure. */

export interface Difference {
  readonly title: string
  readonly a: unknown
  readonly b: unknown
}

export function differenceOf(data: unknown): Difference {
  const { what, a, b, node, task, key, path, superstep } = (
    typeof data === "object" && data !== null ? data : {}
  ) as {
    readonly [name: string]: unknown
  }
  const place = [
    node === undefined ? "" : `of ${String(node)}`,
    key === undefined ? "" : String(key),
    Array.isArray(path) && path.length > 0 ? `in ${path.join(" / ")}` : "",
    task === undefined ? "" : `task ${String(task)}`,
    superstep === undefined ? "" : `superstep ${String(superstep)}`,
  ].filter((word) => word !== "")
  return { title: [typeof what === "string" ? what : "difference", ...place].join(" "), a, b }
}
