const NUMBERS = new Intl.Collator("en", { numeric: true })

/** Databases give no order of their own, or another each time; ids are the order in which things were made, mostly. */
export function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return NUMBERS.compare(a.id, b.id) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
