/** An edit of a graph, as data. */

/** Where a new node goes: after another, as the first step of a branch, or as one more branch of a block. */
export type InsertAt = "after" | "true" | "false" | "inside"

export type Edit =
  | {
      readonly kind: "add"
      readonly id: string
      readonly type: string
      /** Of an agent: one of the file, or a new one. */
      readonly agent?: string | undefined
      /** Undefined: at the end. */
      readonly node?: string | undefined
      readonly place?: InsertAt | undefined
    }
  | {
      readonly kind: "connect"
      readonly from: string
      readonly to: string
      readonly condition?: string | undefined
    }
  | { readonly kind: "disconnect"; readonly from: string; readonly to: string }
  | { readonly kind: "rename"; readonly node: string; readonly to: string }
  | { readonly kind: "delete"; readonly node: string }
