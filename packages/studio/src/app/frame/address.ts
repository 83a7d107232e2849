/** The query of the page's address, which holds filters, selections and points in time: everything is a link. */
import { useLocation, useSearch } from "wouter"

export type Changes = Readonly<Record<string, string | readonly string[] | undefined>>

/** The query with some parameters set, or removed where undefined. */
function changed(query: string, changes: Changes): string {
  const params = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name)
    for (const one of [value ?? []].flat()) params.append(name, one)
  }
  // Addresses are for people: what a query allows stays readable.
  return params
    .toString()
    .replace(/%2F/g, "/")
    .replace(/%3A/g, ":")
    .replace(/%2C/g, ",")
    .replace(/%23/g, "%23")
}

export function useAddress(): readonly [
  params: URLSearchParams,
  set: (changes: Changes, options?: { readonly replace?: boolean }) => void,
] {
  const [path, navigate] = useLocation()
  const search = useSearch()
  const set = (changes: Changes, options: { readonly replace?: boolean } = {}) => {
    const query = changed(window.location.search, changes)
    navigate(query === "" ? path : `${path}?${query}`, options)
  }
  return [new URLSearchParams(search), set]
}

export function runHref(run: string, changes: Changes = {}): string {
  const query = changed("", changes)
  return `/runs/${encodeURIComponent(run)}${query === "" ? "" : `?${query}`}`
}
