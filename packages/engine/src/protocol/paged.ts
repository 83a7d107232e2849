/** Many things by number, as plain data in pages: a change copies a page, not all of them. */
import type { Draft } from "./draft.ts"

export interface Paged<T> {
  readonly [page: number]: { readonly [id: number]: T }
}

const PAGE_SIZE = 256

export function getPaged<T>(paged: Paged<T>, id: number): T | undefined {
  return paged[pageOf(id)]?.[id]
}

/** Takes the place of `paged`. */
export function putPaged<T>(draft: Draft, paged: Paged<T>, id: number, value: T): Paged<T> {
  const pages = draft.own(paged)
  const known = pages[pageOf(id)]
  const page = known === undefined ? draft.made<{ [id: number]: T }>({}) : draft.own(known)
  page[id] = value
  pages[pageOf(id)] = page
  return pages
}

/** In the order of their numbers. */
export function pagedValues<T>(paged: Paged<T>): T[] {
  return Object.values(paged).flatMap((page: { readonly [id: number]: T }) => Object.values(page))
}

function pageOf(id: number): number {
  return Math.floor(id / PAGE_SIZE)
}
