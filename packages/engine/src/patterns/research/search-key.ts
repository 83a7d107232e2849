/** Which searches are the same, and what can be searched for. */

/** The same for searches that differ in nothing that an engine looks at: capitals, spaces, forms of a character. */
export function searchKey(search: {
  readonly agent: string
  readonly query: string
  readonly entity_website?: string | undefined
}): string {
  const { agent, query, entity_website: site = "" } = search
  return JSON.stringify([agent, oneLine(query.normalize("NFKC")).toLowerCase(), sourceKey(site.trim())])
}

/** As much as search engines take. */
const MAX_QUERY_LENGTH = 400

/** Whether a model's text is a query. An answer that went wrong is not: paragraphs, code blocks, JSON in a string. */
export function isQuery(text: string): boolean {
  const query = text.trim()
  if (query.length > MAX_QUERY_LENGTH || /[\r\n]|```/.test(query)) return false
  return !/^[[{].*[":]/.test(query)
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}

/** What counters of visits add to addresses. */
const TRACKING = /^(?:utm_.*|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid)$/i

/** The same page under addresses that differ in nothing that matters. */
export function sourceKey(url: string): string {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return url
  const address = new URL(url)
  address.hash = ""
  for (const name of [...address.searchParams.keys()]) {
    if (TRACKING.test(name)) address.searchParams.delete(name)
  }
  address.searchParams.sort()
  const { host, pathname, search } = address
  return `https://${host.replace(/^www\./, "")}${pathname.replace(/\/+$/, "")}${search}`
}
