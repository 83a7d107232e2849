/** Events of a run as lists read them: a window by number, or those that match a filter. New ones are added as they happen. */
import { type EventFilter, matchesEvent, type RunEvent } from "@superstep/engine/protocol"
import { keepPreviousData, useInfiniteQuery, useQueries } from "@tanstack/react-query"
import { useEffect, useMemo } from "react"
import { client } from "../api/session.ts"
import type { RunHistory } from "./history.ts"

const PAGE = 200
const LIST = 500
/** Milliseconds for which a page that nobody looks at is kept. */
const KEPT = 30_000

/** The event with a number, if it has arrived: the numbers from `from` to `to` are read. */
export function useEventWindow(
  run: string,
  history: RunHistory,
  from: number,
  to: number,
): (seq: number) => RunEvent | undefined {
  // The tail needs no request.
  const last = Math.min(to, history.tailStart - 1)
  const first = Math.floor(Math.max(0, from - 1) / PAGE)
  const pages = Array.from({ length: Math.max(0, Math.ceil(last / PAGE) - first) }, (_, i) => first + i)
  const found = useQueries({
    queries: pages.map((page) => ({
      queryKey: ["events", run, page],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const query = { after: page * PAGE, limit: PAGE }
        const { data } = await client.request("GET /v1/runs/{run}/events/page", {
          path: { run },
          query,
          signal,
        })
        return data.events as readonly RunEvent[]
      },
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: KEPT,
    })),
  })
  return (seq) => {
    if (seq >= history.tailStart) return history.tail[seq - history.tailStart]
    const page = Math.floor((seq - 1) / PAGE)
    return found[page - first]?.data?.[(seq - 1) % PAGE]
  }
}

export interface EventList {
  /** In order: the last ones that match, and as many before them as were asked for. */
  readonly events: readonly RunEvent[]
  readonly isLoading: boolean
  readonly error: unknown
  readonly hasEarlier: boolean
  readonly loadEarlier: () => void
}

export interface ListFilter {
  readonly types?: readonly string[] | undefined
  readonly text?: string | undefined
  readonly task?: NonNullable<EventFilter["task"]> | undefined
}

export function useEventList(
  run: string,
  history: RunHistory,
  version: number,
  filter: ListFilter,
  isEnabled = true,
): EventList {
  const key = JSON.stringify(filter)
  const list = useInfiniteQuery({
    queryKey: ["event-list", run, key],
    enabled: isEnabled && run !== "",
    queryFn: async ({ pageParam, signal }) => {
      const { types, text, task } = filter
      const query = {
        before: pageParam,
        limit: LIST,
        ...(types !== undefined && { types: types.join(",") }),
        ...(text !== undefined && text !== "" && { text }),
        ...(task !== undefined && { task: String(task.id), path: [...task.path] }),
      }
      return (await client.request("GET /v1/runs/{run}/events/page", { path: { run }, query, signal })).data
    },
    initialPageParam: 1e15,
    getNextPageParam: ({ more, events }) =>
      more ? ((events as readonly RunEvent[])[0]?.seq ?? undefined) : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT,
    placeholderData: keepPreviousData,
  })
  const known = list.data?.pages[0]?.length
  const isBehind = known !== undefined && history.tailStart > known + 1
  const { refetch } = list
  useEffect(() => {
    if (isBehind) void refetch()
  }, [isBehind, refetch])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text says when the filter changes, the version when events came
  const events = useMemo(() => {
    const test = { ...filter, types: filter.types === undefined ? undefined : new Set(filter.types) }
    const read = (list.data?.pages ?? []).flatMap((page) => page.events as RunEvent[])
    const pages = read.length === 0 ? read : [...read].sort((a, b) => a.seq - b.seq)
    const fresh = history.tail.filter(({ seq }) => known !== undefined && seq > known)
    return [...pages, ...fresh.filter((event) => matchesEvent(event, test))]
  }, [list.data, key, history, version])
  return {
    events,
    isLoading: list.isPending,
    error: list.error,
    hasEarlier: list.hasNextPage,
    loadEarlier: () => {
      if (!list.isFetchingNextPage) void list.fetchNextPage()
    },
  }
}
