/** Many things by number, as plain data in pages: a change copies a page and their list, not all of them. */
import type { Draft } from "./draft.ts"

/** Pages are lists, with holes where a number is not taken; numbers may be far apart, so their list is a record. */
export interface Paged<T> {
  readonly [page: number]: readonly (T | null | undefined)[]
}

const PAGE_SIZE = 256

export function getPaged<T>(paged: Paged<T>, id: number): T | undefined {
  return paged[pageOf(id)]?.[id % PAGE_SIZE] ?? undefined
}

/** Takes the place of `paged`. */
export function putPaged<T>(draft: Draft, paged: Paged<T>, id: number, value: T): Paged<T> {
  const pages = draft.own(paged, copyPages)
  const page = draft.own(pages[pageOf(id)] ?? [])
  page[id % PAGE_SIZE] = value
  pages[pageOf(id)] = page
  return pages
}

/** In the order of their numbers. */
export function pagedValues<T>(paged: Paged<T>): T[] {
  return Object.values(paged).flatMap((page: Paged<T>[number]) =>
    // A hole that went through JSON is null.
    page.filter((value) => value !== undefined && value !== null),
  )
}

function pageOf(id: number): number {
  return Math.floor(id / PAGE_SIZE)
}

/** Apart from other copies: an engine copies objects of one shape many times faster than of any shape. */
function copyPages<T>(pages: Paged<T>): Paged<T> {
  return { ...pages }
}
