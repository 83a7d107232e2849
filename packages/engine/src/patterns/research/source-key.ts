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
