/** Times, durations, money and counts: one look and one way to show the exact value on hover. */
import { useEffect, useState } from "react"
import { count, duration, exact, money, relative } from "./format.ts"

/** The current time, renewed so that "5 min ago" stays true. One timer serves the whole page. */
const listeners = new Set<(now: number) => void>()
let timer: number | undefined

function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    listeners.add(setNow)
    timer ??= window.setInterval(() => {
      const time = Date.now()
      for (const listener of listeners) listener(time)
    }, 5_000)
    return () => {
      listeners.delete(setNow)
      if (listeners.size > 0) return
      window.clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now
}

/** Relative to now; exact on hover. */
export function Time({ at }: { readonly at: number }) {
  const now = useNow()
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {relative(at, now)}
    </time>
  )
}

/** Of something that has ended, or since it started. */
export function Duration({ from, to }: { readonly from: number; readonly to?: number | undefined }) {
  const now = useNow()
  const end = to ?? Math.max(now, from)
  return (
    <span title={`${exact(from)} – ${to === undefined ? "now" : exact(to)}`}>{duration(end - from)}</span>
  )
}

/** Undefined: nothing had a price. */
export function Money({ usd }: { readonly usd: number | undefined }) {
  return usd === undefined ? <span>–</span> : <span title={`$${usd}`}>{money(usd)}</span>
}

export function Count({ value }: { readonly value: number | undefined }) {
  return <span>{value === undefined ? "–" : count(value)}</span>
}
