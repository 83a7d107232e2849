/**
 * Caches profiles for later processes. A profile is created again if the schema or the excluded columns change, if the
 * data changed by more than a tenth, or if it is old. An incomplete profile is kept for a short time only.
 */
import { join } from "node:path"
import type { AskOptions, DatabaseProfile } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import { digestOf, readCache, writeCache } from "../cache-file.ts"
import { wholeNumber } from "../errors.ts"
import { excludedColumns, type IsExcluded } from "./profile-tables.ts"

export interface ProfileOptions {
  /**
   * Columns that are not profiled, as `table.column` or `schema.table.column`, with `*` for any part of a name. Columns
   * that are named like a secret are never profiled.
   */
  readonly excludeColumns?: readonly string[] | undefined
  /** Milliseconds to create a profile. Default 15,000. */
  readonly timeout?: number | undefined
  /** A folder to cache profiles for later processes. Default: no cache. */
  readonly cache?: string | undefined
  /** Milliseconds after which a profile is created again. Default: one day. */
  readonly maxAge?: number | undefined
}

/** A cheap summary of the state of a source. */
export interface Fingerprint {
  /** A digest of the schema. Any difference invalidates the profile. */
  readonly shape: string
  /** For each part, a counter of its changes and its size. A difference of more than a tenth invalidates the profile. */
  readonly parts: Readonly<Record<string, readonly [changes: number, size: number]>>
}

export interface ProfiledSource {
  /** Distinguishes the source from others. Contains no password. */
  readonly identity: string
  readonly options: ProfileOptions | undefined
  fingerprint(signal: AbortSignal | undefined): Promise<Fingerprint>
  look(options: { readonly isExcluded: IsExcluded; readonly timeout: number }): Promise<DatabaseProfile>
  readonly now?: (() => number) | undefined
}

/** Increase it when the content of profiles changes. */
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
    kept ??= path === undefined ? undefined : cachedIn(await readCache(path))
    if (kept !== undefined && isFresh(kept, seen)) return kept.profile
    // Shared by all concurrent callers; none of them can abort it for the others.
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

function cachedIn(data: unknown): Kept | undefined {
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
