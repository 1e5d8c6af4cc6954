// Makes the page of src/ and of the packages in package-lock.json, as two string literals for the command.
// usage: node build.mjs [--check]   --check: writes nothing; fails if what is there is something else
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, '../tools/export/page');
const BUNDLED = ['@tanstack/table-core', '@tanstack/store'];
const DELIMITER = 'hbbp-page';

const read = (path) => readFileSync(join(here, path), 'utf8');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function licences() {
  return BUNDLED.map((name) => {
    const { version, license } = JSON.parse(read(`node_modules/${name}/package.json`));
    const file = ['LICENSE', 'LICENSE.md'].find((one) => {
      try {
        return read(`node_modules/${name}/${one}`);
      } catch {
        return false;
      }
    });
    return `${name} ${version} (${license})\n\n${read(`node_modules/${name}/${file}`).trim()}`;
  }).join('\n\n\n');
}

async function bundle(entry, options = {}) {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [join(here, entry)], absWorkingDir: here, bundle: true, minify: true, write: false, metafile: true,
    format: 'iife', target: 'es2022', legalComments: 'none', charset: 'ascii', logLevel: 'warning', ...options,
  });
  const packages = new Set(Object.keys(metafile.inputs).map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
  for (const name of packages) if (!BUNDLED.includes(name)) throw new Error(`${name} is bundled without its licence`);
  return outputFiles[0].text.trimEnd();
}

const literal = (text) => {
  if (text.includes(`)${DELIMITER}"`) || text.includes('\0')) throw new Error('not to be put into a raw string');
  return `R"${DELIMITER}(${text})${DELIMITER}"\n`;
};

const script = await bundle('src/main.js', { define: { LICENCES: JSON.stringify(licences()) } });
if (/<\/script|<!--/i.test(script)) throw new Error('the script would end in its middle');
const style = await bundle('src/style.css');
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
const [before, after] = read('src/page.html').split('@DATA@');
const parts = {
  'before_data.inc': before.replace('@POLICY@', () => policy).replace('@STYLE@', () => style),
  'after_data.inc': after.replace('@SCRIPT@', () => script),
};

// Lets tests/tools/check_page see without npm that the page is older than what it is made of.
const sources = ['build.mjs', 'package-lock.json', ...readdirSync(join(here, 'src')).map((name) => `src/${name}`)].sort();
const sum = (path) => createHash('sha256').update(readFileSync(join(here, path))).digest('hex');

let stale = 0;
mkdirSync(target, { recursive: true });
const files = Object.entries(parts).map(([name, text]) => [name, literal(text)]);
files.push(['sources.sha256', sources.map((path) => `${sum(path)}  ${path}\n`).join('')]);
for (const [name, content] of files) {
  const path = join(target, name);
  if (!process.argv.includes('--check')) {
    writeFileSync(path, content);
  } else if (readFileSync(path, 'utf8') !== content) {
    console.error(`tools/export/page/${name} is not what web/ makes; run: npm --prefix web run build`);
    stale += 1;
  }
}
process.exit(stale ? 1 : 0);
