// The pages are the repository's own Markdown files, as GitHub shows them. This file says which are on the site, and maps their links.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');

const REPOSITORY = JSON.parse(read('packages/nest-dq/package.json')).repository.url.replace(
  /^git\+|\.git$/g,
  '',
);

/** Files with another path on the site. */
const REWRITES = {
  'README.md': 'index.md',
  'README.zh-CN.md': 'zh/index.md',
  'docs/README.md': 'docs/index.md',
  'docs/monitoring/README.md': 'docs/monitoring/index.md',
  'packages/nest-handlers/README.md': 'packages/nest-handlers/index.md',
  'packages/nest-kq/README.md': 'packages/nest-kq/index.md',
  'sample-app/README.md': 'sample-app/index.md',
};

const PAGES = /^(docs\/.*|README|README\.zh-CN|CONTRIBUTING|SECURITY|CHANGELOG)\.md$/;
const isPage = (path) => path in REWRITES || PAGES.test(path);

/** The link of a page, as the site has it: to another page, or to the repository if the file is not on the site. */
function siteLink(href, from) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return href;
  const [file, hash] = href.split('#');
  const path = normalize(join(dirname(from), decodeURI(file)));
  if (!existsSync(join(root, path))) return href; // VitePress reports it
  const end = hash ? `#${hash}` : '';
  if (isPage(path)) return `/${REWRITES[path] ?? path}${end}`;
  return `${REPOSITORY}/${statSync(join(root, path)).isDirectory() ? 'tree' : 'blob'}/main/${path}${end}`;
}

function mapLinks(md) {
  md.core.ruler.push('site-links', ({ tokens, env }) => {
    const path = env.path.slice(root.length);
    const from = Object.keys(REWRITES).find((file) => REWRITES[file] === path) ?? path;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'link_open') token.attrSet('href', siteLink(token.attrGet('href'), from));
    }
  });
}

/** The name GitHub gives a heading, so that the same anchors work in both places. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** The chapters of docs/README.md that list pages. */
function chapters() {
  const all = read('docs/README.md').split(/^## /m).slice(1);
  return all
    .map((chapter) => ({
      text: chapter.split('\n', 1)[0],
      collapsed: false,
      items: Array.from(
        chapter.matchAll(/^(?:\|.*\| |- )\[([^\]]+)\]\(([^)#]+\.md)\)/gm),
        ([, text, href]) => ({
          text,
          link: siteLink(href, 'docs/README.md'),
        }),
      ),
    }))
    .filter(({ items }) => items.length > 0);
}
const sidebar = [{ text: 'Start', items: [{ text: 'Words, and all pages', link: '/docs/' }] }, ...chapters()];
const comingFrom = sidebar.flatMap(({ items }) => items).filter(({ text }) => text.startsWith('Coming from'));

const nav = [
  { text: 'Guide', link: '/docs/', activeMatch: '^/docs/$' },
  { text: 'Operate', link: '/docs/operating' },
  { text: 'Coming from …', items: comingFrom },
  { text: 'Kafka', link: '/docs/kq/getting-started', activeMatch: '^/docs/kq/' },
  { text: 'Internals', link: '/docs/architecture' },
  {
    text: 'Reference',
    items: [
      { text: 'nest-dq', link: '/reference/index.html', target: '_self' },
      { text: 'nest-kq', link: '/reference/nest-kq/index.html', target: '_self' },
      { text: 'nest-handlers', link: '/reference/nest-handlers/index.html', target: '_self' },
    ],
  },
];

/** Puts the first program of a README next to its first words. The file itself has a list between them. */
const startPage = {
  name: 'start-page',
  enforce: 'pre',
  transform(source, id) {
    if (id !== join(root, 'README.md') && id !== join(root, 'README.zh-CN.md')) return undefined;
    const [intro, features, start, ...rest] = source.split(/^(?=## )/m);
    const end = start.indexOf('```\n', start.indexOf('```ts')) + 4;
    return [
      '---\nlayout: home\n---\n',
      `<div class="start"><div>\n\n${intro}\n</div><div>\n\n${start.slice(0, end)}\n</div></div>\n`,
      start.slice(end),
      features,
      ...rest,
    ].join('\n');
  },
};

/** The Chinese start page searches all pages, which are English: VitePress has an index for each language, and none for one page. */
const searchInChinese = {
  name: 'search-in-chinese',
  transform(code, id) {
    return id.endsWith('/@localSearchIndex')
      ? code.replace(/"root": (\(\) => [^,}]+)/, '$&, "zh": $1')
      : undefined;
  },
};

const SEARCH_ZH = {
  button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
  modal: {
    displayDetails: '显示详情',
    resetButtonTitle: '清除',
    backButtonTitle: '关闭',
    noResultsText: '没有结果：',
    footer: { selectText: '选择', navigateText: '切换', closeText: '关闭' },
  },
};

export default defineConfig({
  title: 'nest-dq',
  description: 'A delay queue for NestJS on several beanstalkd servers and Redis',
  base: process.env.SITE_BASE || '/',
  srcDir: '..',
  srcExclude: [
    '{.github,.ci,bench,coverage,demo,deploy,docker,faults,reference,scripts,site,test}/**',
    '{sample-app,packages/*}/!(README.md)',
    '{sample-app,packages/*}/*/**',
    'packages/nest-dq/**',
  ],
  rewrites: REWRITES,
  ignoreDeadLinks: 'localhostLinks',
  locales: {
    root: { label: 'English', lang: 'en' },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      link: '/zh/',
      themeConfig: {
        nav: [
          { text: '文档（英文）', link: '/docs/' },
          { text: 'Kafka', link: '/docs/kq/getting-started' },
        ],
        outline: { level: [2, 3], label: '本页目录' },
        darkModeSwitchLabel: '主题',
        sidebarMenuLabel: '菜单',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '切换语言',
      },
    },
  },
  markdown: { anchor: { slugify }, config: mapLinks },
  vite: { plugins: [startPage, searchInChinese] },
  themeConfig: {
    i18nRouting: false,
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { locales: { zh: { translations: SEARCH_ZH } } } },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
  },
});
