// How the samples of fleets are shown, and what they are held to.
import { shortNumber, textTable } from "../table.mjs"

export const percent = (share) => `${Math.round(share * 100)} %`

export function waitingTable({ cells }) {
  const rows = cells.map(({ store, workers, perSecond, efficiency }) => [
    store,
    String(workers),
    shortNumber(perSecond),
    percent(efficiency),
  ])
  return textTable(["store", "workers", "runs/s", "of linear"], rows)
}

export function saturationTable({ cells }) {
  const rows = cells.map(({ store, workers, concurrency, perSecond, workerCpu, serverCpu }) => [
    store,
    String(workers),
    String(concurrency),
    shortNumber(perSecond),
    shortNumber(workerCpu),
    serverCpu === undefined ? "" : shortNumber(serverCpu),
  ])
  return textTable(
    ["store", "workers", "at a time, each", "runs/s", "ms CPU, workers", "ms CPU, server"],
    rows,
  )
}

function efficiencyOf(store, workers) {
  return ({ waiting }) =>
    waiting.cells.find((cell) => cell.store === store && cell.workers === workers)?.efficiency
}

export const scalingTargets = [2, 3].map((workers) => ({
  name: `${workers} workers on PostgreSQL, tasks that wait, share of linear`,
  atLeast: 0.85,
  measure: efficiencyOf("PostgreSQL", workers),
}))
