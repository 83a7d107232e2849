/** Spend by day as bars. The table by day has the same figures, for readers and for those who do not see charts. */
import { useEffect, useRef } from "react"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { money } from "../ui/format.ts"
import type { CostView } from "./cost-view.ts"
import styles from "./costs.module.css"

const HEIGHT = 180

export default function SpendChart({ days }: { readonly days: CostView["days"] }) {
  const box = useRef<HTMLDivElement>(null)
  const value = useRef<HTMLOutputElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      const chart = new uPlot(optionsOf(element, days, value.current), dataOf(days), element)
      return () => chart.destroy()
    }
    let end = draw()
    const renew = () => {
      end()
      end = draw()
    }
    const sizes = new ResizeObserver(renew)
    sizes.observe(element)
    // Colours are those of the theme, which can change while the chart is shown.
    const theme = new MutationObserver(renew)
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    return () => {
      sizes.disconnect()
      theme.disconnect()
      end()
    }
  }, [days])
  const highest = days.reduce((top, one) => (one.usd > top.usd ? one : top), { day: "", usd: 0 })
  return (
    <figure
      className={styles.chart}
      aria-label={`Spend by day. The highest is ${money(highest.usd)}${highest.day === "" ? "" : ` on ${highest.day}`}.`}
    >
      <div ref={box} className={styles.plot} />
      <output ref={value} className={styles.value} aria-hidden="true" />
    </figure>
  )
}

function dataOf(days: CostView["days"]): uPlot.AlignedData {
  return [days.map((_, i) => i), days.map(({ usd }) => usd)]
}

function optionsOf(
  element: HTMLElement,
  days: CostView["days"],
  output: HTMLOutputElement | null,
): uPlot.Options {
  const style = getComputedStyle(element)
  // A canvas knows no light-dark(): the probe resolves tokens to the colours of the theme.
  const colour = (name: string) => {
    element.style.color = `var(${name})`
    const resolved = style.color
    element.style.color = ""
    return resolved
  }
  const [text, grid, bar] = [colour("--text-2"), colour("--border"), colour("--accent")]
  const font = `12px ${style.fontFamily}`
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, Math.max(days.length - 0.4, 0.6)] },
      y: { range: (_, __, max) => [0, max === 0 ? 1 : max * 1.1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        incrs: [1, 2, 5, 7, 14, 30, 60],
        space: 60,
        values: (_, at) => at.map((i) => days[i]?.day.slice(5) ?? ""),
      },
      { ...axis, size: 64, values: (_, at) => at.map((usd) => (usd === 0 ? "$0" : money(usd))) },
    ],
    series: [
      {},
      {
        fill: bar,
        stroke: bar,
        width: 0,
        points: { show: false },
        ...(uPlot.paths.bars !== undefined && { paths: uPlot.paths.bars({ size: [0.7, 48], radius: 0.1 }) }),
      },
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          const one = idx === null || idx === undefined ? undefined : days[idx]
          if (output !== null) output.textContent = one === undefined ? "" : `${one.day}: ${money(one.usd)}`
        },
      ],
    },
  }
}
