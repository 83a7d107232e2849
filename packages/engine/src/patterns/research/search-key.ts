/** Identifies equal searches, equal sources and valid queries. */

/** The key of a search. Searches that differ only in case, spaces or Unicode form have the same key. */
export function searchKey(search: {
  readonly agent: string
  readonly query: string
  readonly entity_website?: string | undefined
}): string {
  const { agent, query, entity_website: site = "" } = search
  return JSON.stringify([agent, oneLine(query.normalize("NFKC")).toLowerCase(), sourceKey(site.trim())])
}

/** The maximum that search engines accept. */
const MAX_QUERY_LENGTH = 400

/** Whether a model's text is a query. A malformed answer is not: paragraphs, code blocks, JSON in a string. */
export function isQuery(text: string): boolean {
  const query = text.trim()
  if (query.length > MAX_QUERY_LENGTH || /[\r\n]|```/.test(query)) return false
  return !/^[[{].*[":]/.test(query)
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}

/** Tracking parameters in URLs. */
const TRACKING = /^(?:utm_.*|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid)$/i

/** The same key for equivalent addresses of a page. */
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
