// Builds web/dist: one entry and chunks that are loaded when needed. Builds are reproducible.

import { build } from 'esbuild'
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const dist = process.argv[2] ?? join(here, 'dist')
await rm(dist, { recursive: true, force: true })
await mkdir(dist, { recursive: true })

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.tsx'],
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  metafile: true,
  chunkNames: '[name]',
  external: ['/inter.woff2', '/mono.woff2'],
  logLevel: 'warning',
})

for (const name of ['index.html', 'frame.html', 'icon.svg'])
  await copyFile(join(here, 'src', name), join(dist, name))
const fonts = join(here, 'node_modules/@fontsource-variable')
await copyFile(join(fonts, 'inter/files/inter-latin-wght-normal.woff2'), join(dist, 'inter.woff2'))
await copyFile(
  join(fonts, 'jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
  join(dist, 'mono.woff2'),
)

// The licences of all bundled packages.
const packages = new Set(['@fontsource-variable/inter', '@fontsource-variable/jetbrains-mono'])
for (const input of Object.keys(metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
  if (found) packages.add(found[1])
}
let notes = ''
for (const name of [...packages].sort()) {
  const folder = join(here, 'node_modules', name)
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one))
  const text = file ? (await readFile(join(folder, file), 'utf8')).trim() : ''
  notes += `${name} ${version} (${license})\n\n${text}\n\n${'-'.repeat(79)}\n\n`
}
await writeFile(join(dist, 'THIRD_PARTY.txt'), notes)

const scripts = Object.entries(metafile.outputs).filter(([name]) => name.endsWith('.js'))
for (const [name, { bytes }] of scripts) {
  const path = join(here, name)
  const packed = brotliCompressSync(await readFile(path), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11 },
  }).length
  console.log(`${name.split('/').at(-1)} ${bytes} bytes, ${packed} packed`)
}
