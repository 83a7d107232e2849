/** The budgets of keys, with what is spent of them. Only administrators see keys. */
import { useQuery } from "@tanstack/react-query"
import { useMay } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { budgetView, type DaySpent, PAST_DAYS } from "./budget-view.ts"

const DAY = 86_400_000

export function useBudgets() {
  const maySee = useMay("admin")
  return useQuery({
    queryKey: ["budgets"],
    enabled: maySee,
    refetchInterval: 5_000,
    queryFn: async ({ signal }) => {
      const { keys } = (await client.request("GET /v1/keys", { query: { limit: 200 }, signal })).data
      const limited = keys.filter(({ budget, revokedAt }) => budget !== undefined && revokedAt === undefined)
      if (limited.length === 0) return []
      const now = Date.now()
      const from = new Date(now - (PAST_DAYS - 1) * DAY).toISOString().slice(0, 10)
      const query = { group: "day,key", from }
      const { groups } = (await client.request("GET /v1/usage", { query, signal })).data
      const days = Array.from({ length: PAST_DAYS }, (_, i) =>
        new Date(now - (PAST_DAYS - 1 - i) * DAY).toISOString().slice(0, 10),
      )
      return limited.flatMap((key) => {
        const spent = days.map((day): DaySpent => {
          const { usage = {} } = groups.find((one) => one.day === day && one.key === key.id) ?? {}
          return { day, usd: usage.usd ?? 0, tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) }
        })
        const view = budgetView(key, spent, now)
        return view === undefined ? [] : [{ key, view }]
      })
    },
  })
}
