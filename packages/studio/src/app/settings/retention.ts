/** The policy of retention, in words and from a form. Pure. */
import { count, duration } from "../ui/format.ts"

interface Policy {
  readonly olderThan?: number
  readonly keep?: number
}

const DAY = 86_400_000

/** What is deleted by itself, and by whom. */
export function retentionWords({
  keep,
  maxAge,
  setBy,
}: {
  readonly keep?: number | undefined
  readonly maxAge?: number | undefined
  /** It is stored: all servers and workers have it. */
  readonly setBy?: string | undefined
}): string {
  const parts = [
    ...(maxAge === undefined ? [] : [`runs that ended more than ${duration(maxAge)} ago`]),
    ...(keep === undefined ? [] : [`all but the newest ${count(keep)} of each workflow`]),
  ]
  const who = setBy === undefined ? "This server deletes" : "Servers and workers delete"
  if (parts.length === 0) return `${who} nothing by ${setBy === undefined ? "itself" : "themselves"}`
  return `${who} ${parts.join(", and ")}`
}

export function policyOf(
  days: string,
  keep: string,
): { readonly policy: Policy; readonly problem?: string | undefined } {
  const [age, newest] = [days.trim(), keep.trim()]
  if (age === "" && newest === "") return { policy: {}, problem: "Say how old, how many, or both." }
  if (age !== "" && !/^\d{1,5}(?:\.\d+)?$/.test(age))
    return { policy: {}, problem: "Write a number of days." }
  if (newest !== "" && !/^\d{1,9}$/.test(newest)) {
    return { policy: {}, problem: "The number to keep is a whole one." }
  }
  return {
    policy: {
      ...(age !== "" && { olderThan: Math.round(Number(age) * DAY) }),
      ...(newest !== "" && { keep: Number(newest) }),
    },
  }
}
