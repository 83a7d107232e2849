/** How a report in HTML looks: on screens of any width, in light and dark, and on paper. */
export const REPORT_STYLE = `:root {
  color-scheme: light dark;
  --text: #1c1d21; --soft: #5d6069; --line: #dfe0e4; --page: #fff; --tint: #f5f5f7; --link: #1a56b8; --warn: #8a4b00; --warn-tint: #fdf4e3;
}
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e8; --soft: #a0a3ad; --line: #37393f; --page: #17181b; --tint: #202226; --link: #8ab4f8; --warn: #f2bd6b; --warn-tint: #2c2415; }
}
* { box-sizing: border-box; }
html { font-size: 17px; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.62 Charter, "Bitstream Charter", "Iowan Old Style", "Palatino Linotype", Cambria, Georgia, serif; }
main { max-width: 42rem; margin: 0 auto; padding: 3.5rem 1.25rem 5rem; overflow-wrap: break-word; }
h1, h2, h3, h4, h5, h6, nav, table, .notice, .question, .no-source { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: 2.1rem; letter-spacing: -0.015em; margin: 0 0 1rem; }
h2 { font-size: 1.4rem; letter-spacing: -0.01em; margin: 2.6rem 0 0.8rem; }
h3 { font-size: 1.12rem; margin: 2rem 0 0.5rem; }
h4, h5, h6 { font-size: 1rem; margin: 1.6rem 0 0.4rem; }
p, ul, ol, pre, blockquote, table { margin: 0 0 1.1rem; }
li { margin: 0.2rem 0; }
li > p { margin-bottom: 0.4rem; }
a { color: var(--link); text-decoration-thickness: 0.06em; text-underline-offset: 0.15em; }
a[href^="#source-"] { font: 0.72em/1 system-ui, sans-serif; vertical-align: 0.35em; text-decoration: none; padding: 0 0.06em; }
a[href^="#source-"]:hover { text-decoration: underline; }
.question { color: var(--soft); font-size: 1rem; margin-bottom: 2rem; }
.no-source { color: var(--warn); background: var(--warn-tint); border-radius: 0.25em; font-size: 0.72em; padding: 0.1em 0.4em; white-space: nowrap; }
.notice { color: var(--warn); background: var(--warn-tint); border-radius: 0.4rem; font-size: 0.88rem; line-height: 1.5; padding: 0.7rem 1rem; }
ul.notice { padding-left: 2rem; }
nav { background: var(--tint); border-radius: 0.5rem; font-size: 0.92rem; margin: 2.2rem 0; padding: 1rem 1.25rem; }
nav h2 { color: var(--soft); font-size: 0.8rem; letter-spacing: 0.06em; margin: 0 0 0.5rem; text-transform: uppercase; }
nav ol { margin: 0; padding-left: 1.4rem; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
table { border-collapse: collapse; display: block; font-size: 0.84rem; line-height: 1.45; max-width: 100%; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: 0.45rem 0.9rem 0.45rem 0; text-align: left; vertical-align: top; }
th[align="right"], td[align="right"] { text-align: right; }
th[align="center"], td[align="center"] { text-align: center; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
.sources td:first-child, .sources td:last-child { font-variant-numeric: tabular-nums; white-space: nowrap; }
.sources .date { white-space: nowrap; }
.sources tr:target td { background: var(--tint); }
blockquote { border-left: 3px solid var(--line); color: var(--soft); padding-left: 1rem; }
code { background: var(--tint); border-radius: 0.25em; font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; padding: 0.1em 0.3em; }
pre { background: var(--tint); border-radius: 0.4rem; overflow-x: auto; padding: 0.9rem 1rem; }
pre code { background: none; padding: 0; }
pre.text { background: none; font: inherit; padding: 0; white-space: pre-wrap; }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0; }
@media (max-width: 30rem) { html { font-size: 16px; } main { padding-top: 2rem; } h1 { font-size: 1.7rem; } }
@media print {
  :root { color-scheme: light; --text: #000; --soft: #444; --line: #bbb; --page: #fff; --tint: #f5f5f5; --link: #000; --warn: #5a3200; --warn-tint: #f7f0e2; }
  @page { margin: 20mm 18mm; }
  html { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, h4, h5, h6 { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
  tr, pre, blockquote, nav, .notice { break-inside: avoid; }
  table { display: table; overflow: visible; }
  pre { white-space: pre-wrap; }
  nav, .notice, .no-source { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`
