/** What screens read from the server, by name: equal keys are read once. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { timesAt } from "../runs/time-range.ts"
import { client } from "./session.ts"

export const ROLES = ["viewer", "operator", "author", "admin"] as const
export type Role = (typeof ROLES)[number]

/** How often lists look for news, in milliseconds. */
const LIVE = 2_000

export function useMe() {
  return useQuery({
    queryKey: ["me"],
    queryFn: async ({ signal }) => (await client.request("GET /v1/me", { signal })).data,
    staleTime: 60_000,
  })
}

/** Whether this person may do what needs the role. Until the server says so, buttons are not offered. */
export function useMay(role: Role): boolean {
  const { data } = useMe()
  return data !== undefined && ROLES.indexOf(data.role) >= ROLES.indexOf(role)
}

/** Names of API keys by id, for those who may list them. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const mayList = useMay("admin")
  const { data } = useQuery({
    queryKey: ["keys", "names"],
    enabled: mayList,
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/keys", { query: { limit: 200 }, signal })).data.keys,
    staleTime: 60_000,
  })
  return new Map(data?.map(({ id, name }) => [id, name]))
}

export function useWorkflows() {
  return useQuery({
    queryKey: ["workflows"],
    queryFn: async ({ signal }) => await client.workflows({ signal }),
    staleTime: 10_000,
  })
}

export function useWorkflowGraph(workflow: string) {
  return useQuery({
    queryKey: ["workflow-graph", workflow],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/workflows/{workflow}/graph", { path: { workflow }, signal })).data,
    staleTime: 10_000,
  })
}

export interface RunsFilter {
  readonly workflow?: string | undefined
  readonly status?: string | undefined
  readonly label?: readonly string[] | undefined
  readonly thread?: string | undefined
  readonly text?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** As the server takes it: "the last hour" ends when it is asked. */
function asked({ since, until, ...filter }: RunsFilter) {
  return { ...filter, ...timesAt({ since, until }, Date.now()) }
}

const PAGE = 100

/** Pages of runs, newest first, from a cursor on. */
export function useRunPages(filter: RunsFilter) {
  return useInfiniteQuery({
    queryKey: ["runs", "pages", filter],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...asked(filter), limit: PAGE, cursor: pageParam }
      return (await client.request("GET /v1/runs", { query, signal })).data
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    // The newest page is renewed by `useNewestRuns`: renewing all pages would move what is being read.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })
}

export function useNewestRuns(filter: RunsFilter, limit = PAGE) {
  return useQuery({
    queryKey: ["runs", "newest", filter, limit],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/runs", { query: { ...asked(filter), limit }, signal })).data.runs,
    refetchInterval: LIVE,
    placeholderData: keepPreviousData,
  })
}

/** How many open questions are listed. */
export const MAX_OPEN = 200

/** Open questions, the oldest first. */
export function useOpenRequests(interval = LIVE) {
  return useQuery({
    queryKey: ["requests", "open"],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/requests", { query: { outcome: "open", limit: MAX_OPEN }, signal })).data
        .requests,
    refetchInterval: interval,
  })
}

export function useClosedRequests() {
  return useQuery({
    queryKey: ["requests", "answered"],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/requests", { query: { outcome: "answered", limit: 100 }, signal })).data
        .requests,
  })
}

export function useRun(run: string) {
  return useQuery({
    queryKey: ["run", run],
    queryFn: async ({ signal }) => await client.get(run).show({ signal }),
    refetchInterval: LIVE,
  })
}

export function useRunGraph(run: string) {
  return useQuery({
    queryKey: ["run-graph", run],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/runs/{run}/graph", { path: { run }, signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  })
}
