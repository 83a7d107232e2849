/** What the screens of a definition read from the server. */
import type { Definition, DefinitionVersion, RouteOutput } from "@superstep/client"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { client } from "../api/session.ts"

export function useDefinition(definition: string) {
  return useQuery({
    queryKey: ["definition", definition],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/definitions/{definition}", { path: { definition }, signal })).data,
    staleTime: 5_000,
  })
}

/** The text of a version, its problems and its graph. Versions never change. */
export function useVersion(definition: string, version: number | undefined) {
  return useQuery({
    queryKey: ["definition-version", definition, version],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/definitions/{definition}/versions/{version}", {
          path: { definition, version: version ?? "latest" },
          signal,
        })
      ).data,
    enabled: version !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

type VersionPage = RouteOutput<"GET /v1/definitions/{definition}/versions">

/** The newest versions, the newest first. */
export function useVersions({ name, latest }: Pick<Definition, "name" | "latest">, count: number) {
  return useQuery({
    queryKey: ["definition-versions", name, latest, count],
    queryFn: async ({ signal }): Promise<readonly DefinitionVersion[]> => {
      const found: DefinitionVersion[] = []
      for (
        let cursor: string | undefined = String(Math.max(0, (latest ?? 0) - count));
        cursor !== undefined;
      ) {
        const page: VersionPage = await client.request("GET /v1/definitions/{definition}/versions", {
          path: { definition: name },
          query: { cursor, limit: 100 },
          signal,
        })
        found.push(...page.data.versions)
        cursor = page.data.next
      }
      return found.reverse()
    },
    enabled: latest !== undefined,
    placeholderData: keepPreviousData,
  })
}

export function useDiff(definition: string, from: number | undefined, to: number | undefined) {
  return useQuery({
    queryKey: ["definition-diff", definition, from, to],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/definitions/{definition}/diff", {
          path: { definition },
          query: { from: from ?? 1, to: to ?? "latest" },
          signal,
        })
      ).data,
    enabled: from !== undefined && to !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The JSON Schema that the editor completes from. */
export function useSchema(dialect: "steps" | "graph" | undefined) {
  return useQuery({
    queryKey: ["definition-schema", dialect],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/schemas/{dialect}", {
          path: { dialect: dialect ?? "steps" },
          signal,
        })
      ).data,
    enabled: dialect !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  }).data
}

/** All definitions, also those that are not published. */
export function useDefinitions() {
  return useQuery({
    queryKey: ["definitions"],
    queryFn: async ({ signal }) => (await client.request("GET /v1/definitions", { signal })).data.definitions,
    staleTime: 5_000,
  })
}

/** The problems of the text, or its graph. The answer before stays until the next one is there. */
export function useValidated(name: string, text: string | undefined) {
  return useQuery({
    queryKey: ["validated", name, text],
    queryFn: async ({ signal }) =>
      (
        await client.request("POST /v1/definitions/validate", {
          body: { name, text: text ?? "" },
          signal,
        })
      ).data,
    enabled: text !== undefined,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  })
}

export function useStatistics(workflow: string) {
  return useQuery({
    queryKey: ["statistics", workflow],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/workflows/{workflow}/statistics", { path: { workflow }, signal })).data,
    refetchInterval: 10_000,
  })
}
