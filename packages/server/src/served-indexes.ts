/** The port through which a program offers document indexes: the server depends on no package that has them. */

/** A document index, such as `documentIndex` of @superstep/retrieval returns it. */
export interface ServedIndex {
  report(): Promise<{
    readonly documents: number
    readonly chunks: number
    readonly bytes: number
    readonly embeddings?: { readonly name: string } | undefined
    readonly vectorSearch: boolean
    readonly reason?: string | undefined
  }>
  list(): Promise<
    readonly {
      readonly source: string
      readonly chunks: number
      readonly bytes: number
      readonly addedAt: number
    }[]
  >
  search(
    query: string,
    options: { readonly limit: number; readonly mode?: "merged" | "text" | "vector" | undefined },
  ): Promise<
    readonly {
      readonly text: string
      readonly score: number
      readonly relevance?: number | undefined
      readonly source: string
      readonly title?: string | undefined
    }[]
  >
  add(
    documents: readonly {
      readonly source: string
      readonly text: string
      readonly type?: "text" | "markdown" | "html" | "csv" | undefined
    }[],
  ): Promise<{
    readonly added: number
    readonly changed: number
    readonly unchanged: number
    readonly chunks: number
    readonly problems: readonly { readonly source: string; readonly reason: string }[]
  }>
  remove(source: string): Promise<number>
}

/** The indexes that a server offers. */
export interface ServedIndexes {
  names(): Promise<readonly string[]>
  /** Opens an index for one request, and closes it afterwards. Undefined if there is none with this name. */
  use<T>(name: string, use: (index: ServedIndex) => Promise<T>): Promise<T | undefined>
}
