/**
 * The connection to the server: one client for the whole studio, and who uses it. The API key is in sessionStorage only: it ends
 * with the tab, and no other site, cookie or log sees it.
 */
import { createClient } from "@superstep/client"
import { QueryClient } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"
import { onReturn, watched } from "./connection.ts"

const KEY = "superstep.key"

/** The studio is at `<server>/studio/`, wherever that is mounted. */
export const serverUrl = new URL("..", document.baseURI).href.replace(/\/$/, "")

let isSignedOut = false
const listeners = new Set<() => void>()

function setSignedOut(value: boolean): void {
  if (value === isSignedOut) return
  isSignedOut = value
  for (const listener of listeners) listener()
}

export const client = createClient({
  url: serverUrl,
  // A person looks at the page, and a server that is back should be seen soon.
  retry: { maxDelay: 2_000 },
  async fetch(url, init) {
    const key = sessionStorage.getItem(KEY)
    const headers = new Headers(init.headers)
    if (key !== null) headers.set("authorization", `Bearer ${key}`)
    const send = () => fetch(url, { ...init, headers, credentials: "omit" })
    const response = await watched(send, init.signal)
    if (response.status === 401) setSignedOut(true)
    return response
  },
})

/** The client repeats what can be repeated, so a query that fails has failed. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 1_000, networkMode: "always" },
    mutations: { networkMode: "always" },
  },
})

onReturn(() => {
  void queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" })
})

export function useIsSignedOut(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isSignedOut,
  )
}

/** Resolves to undefined if the key works, or to the reason why not. */
export async function signIn(key: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${serverUrl}/v1/me`, { headers, credentials: "omit" }).catch(() => undefined)
  if (response === undefined) return "The server does not answer."
  if (response.status === 401) return "This key is not valid: it is unknown, revoked or expired."
  if (!response.ok) return `The server answered with status ${response.status}.`
  sessionStorage.setItem(KEY, key)
  queries.clear()
  setSignedOut(false)
  return undefined
}

/** Signs in with a new key if what this tab used until now works no more: it was rotated, or the store had no key before. */
export async function keepSession(key: string): Promise<void> {
  const own = sessionStorage.getItem(KEY)
  const headers = own === null ? {} : { authorization: `Bearer ${own}` }
  const { status } = await fetch(`${serverUrl}/v1/me`, { headers, credentials: "omit" })
  if (status === 401) await signIn(key)
}

export function signOut(): void {
  sessionStorage.removeItem(KEY)
  queries.clear()
  setSignedOut(true)
}
