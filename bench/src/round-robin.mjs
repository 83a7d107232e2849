// Takes samples in turns: each round asks every entrant once, and each round starts with another one.

/**
 * @param {{ sample: () => Promise<number>, samples: number[] }[]} entrants
 * @param {{ rounds: number, budgetMs: number }} options an entrant that has used its time stops early, with two
 *   samples at the least
 */
export async function takeSamples(entrants, { rounds, budgetMs }) {
  const spent = new Map(entrants.map((entrant) => [entrant, 0]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < entrants.length; turn++) {
      const entrant = entrants[(turn + round) % entrants.length]
      if (entrant.samples.length >= 2 && spent.get(entrant) > budgetMs) continue
      const start = performance.now()
      entrant.samples.push(await entrant.sample())
      spent.set(entrant, spent.get(entrant) + performance.now() - start)
    }
  }
}
