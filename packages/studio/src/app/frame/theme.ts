/** Light, dark, or as the system has it. The choice is kept in this browser. */

const KEY = "superstep.theme"
export type Theme = "light" | "dark" | "system"

export function chosenTheme(): Theme {
  const chosen = localStorage.getItem(KEY)
  return chosen === "light" || chosen === "dark" ? chosen : "system"
}

export function applyTheme(): void {
  const chosen = chosenTheme()
  if (chosen === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme()
}

export function switchTheme(): void {
  const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches
  const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light")
  chooseTheme(now === "dark" ? "light" : "dark")
}
