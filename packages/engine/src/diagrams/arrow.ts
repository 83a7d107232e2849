/** What connects the shapes of a diagram. */

export interface Arrow {
  readonly from: string
  readonly to: string
  /** Dashed: the arrow is followed for some messages only, or at a limit. */
  readonly style: "solid" | "dashed" | "error"
  readonly label: string
}

/** The shapes of a node: a nested workflow is entered and left at different shapes. */
export interface Ends {
  readonly entry: string
  readonly exit: string
}
