/**
 * Profiles that outlive their process. One is made again when the schema or the excluded columns change, when the data has
 * changed by more than a little, and when it is old. What ran out of time is kept for a short while only.
 */
import { join } from "node:path"
import type { AskOptions, DatabaseProfile } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import { digestOf, readCache, writeCache } from "../cache-file.ts"
import { wholeNumber } from "../errors.ts"
import { excludedColumns, type IsExcluded } from "./profile-tables.ts"

export interface ProfileOptions {
  /** Columns that are not looked into, as `table.column` or `schema.table.column` with `*` for any part of a name. Columns named like a secret never are. */
  readonly excludeColumns?: readonly string[] | undefined
  /** Milliseconds for a profile. Default 15,000. */
  readonly timeout?: number | undefined
  /** A folder where profiles are kept from one process to the next. Default: they are not. */
  readonly cache?: string | undefined
  /** Milliseconds after which a profile is made again. Default: a day. */
  readonly maxAge?: number | undefined
}

/** What a source looks like from outside, cheaply. */
export interface Fingerprint {
  /** Of the schema: any difference makes a new profile. */
  readonly shape: string
  /** For each part, a counter of its changes and its size: a difference of more than a tenth makes a new profile. */
  readonly parts: Readonly<Record<string, readonly [changes: number, size: number]>>
}

export interface ProfiledSource {
  /** Tells it from other sources; has no password. */
  readonly identity: string
  readonly options: ProfileOptions | undefined
  fingerprint(signal: AbortSignal | undefined): Promise<Fingerprint>
  look(options: { readonly isExcluded: IsExcluded; readonly timeout: number }): Promise<DatabaseProfile>
  readonly now?: (() => number) | undefined
}

/** Raised when what a profile has or how it is made changes. */
const VERSION = 1
const DAY = 86_400_000
const SOON = 600_000
const FEW_CHANGES = 20
const SHARE = 0.1

interface Kept {
  readonly version: number
  readonly at: number
  readonly fingerprint: Fingerprint
  readonly profile: DatabaseProfile
}

export type CachedProfile = (ask?: AskOptions) => Promise<DatabaseProfile>

export function cachedProfile({
  identity,
  options = {},
  fingerprint,
  look,
  now = Date.now,
}: ProfiledSource): CachedProfile {
  const { excludeColumns = [], cache } = options
  const isExcluded = excludedColumns(excludeColumns)
  const timeout = wholeNumber("timeout", options.timeout ?? 15_000)
  const maxAge = wholeNumber("maxAge", options.maxAge ?? DAY)
  const path = cache && join(cache, `profile-${digestOf(identity, [...excludeColumns].sort())}.json`)
  let kept: Kept | undefined
  let making: Promise<Kept> | undefined

  function isFresh({ at, fingerprint: then, profile }: Kept, seen: Fingerprint): boolean {
    const age = now() - at
    return (
      age >= 0 &&
      age < (profile.incomplete === undefined ? maxAge : Math.min(SOON, maxAge)) &&
      isAlike(then, seen)
    )
  }

  async function make(seen: Fingerprint): Promise<Kept> {
    const profile = await look({ isExcluded, timeout })
    const made = { version: VERSION, at: now(), fingerprint: seen, profile }
    if (path !== undefined) await writeCache(path, made)
    return made
  }

  return async ({ signal } = {}) => {
    const seen = await fingerprint(signal)
    kept ??= path === undefined ? undefined : keptIn(await readCache(path))
    if (kept !== undefined && isFresh(kept, seen)) return kept.profile
    // Shared by all who ask meanwhile; none of them can abort it for the others.
    making ??= make(seen).finally(() => {
      making = undefined
    })
    const made = await untilAborted(making, signal)
    kept = made
    return made.profile
  }
}

function isAlike(then: Fingerprint, seen: Fingerprint): boolean {
  const names = Object.keys(seen.parts)
  if (then.shape !== seen.shape || names.length !== Object.keys(then.parts).length) return false
  return names.every((name) => {
    const [was, is] = [then.parts[name], seen.parts[name]]
    if (was === undefined || is === undefined) return false
    return Math.abs(is[0] - was[0]) <= Math.max(FEW_CHANGES, SHARE * was[1])
  })
}

function keptIn(data: unknown): Kept | undefined {
  const { version, at, fingerprint, profile } = (data ?? {}) as Partial<Kept>
  const isKept =
    version === VERSION &&
    typeof at === "number" &&
    typeof fingerprint?.shape === "string" &&
    typeof fingerprint.parts === "object" &&
    Array.isArray(profile?.tables) &&
    profile.tables.every(({ name, columns }) => typeof name === "string" && Array.isArray(columns))
  return isKept ? (data as Kept) : undefined
}
