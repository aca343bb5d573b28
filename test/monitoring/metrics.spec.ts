import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { exposition, seriesOf } from './exposition.js';
import { dashboard, dashboardQueries, namesIn, rules } from './queries.js';

/** Labels that Prometheus itself adds, and that of a cluster with a name. */
const MORE_LABELS = ['instance', 'job', 'dq_cluster'];

const queries = [...rules.map(({ expr }) => expr), ...dashboardQueries];
let text: string;
let exposed: Map<string, Set<string>>;

beforeAll(async () => {
  text = await exposition();
  exposed = seriesOf(text);
}, 120_000);

/** Without what a histogram and a counter add to their names. */
const metricsOf = (names: Iterable<string>) =>
  new Set(Array.from(names, (name) => name.replace(/_(?:bucket|sum|count|total)$/, '')));

describe('the metrics of a real application in Prometheus', () => {
  it.each(queries)('has all series and labels of %s', (query) => {
    const { series, labels } = namesIn(query);
    expect(series).not.toEqual([]);
    expect([...exposed.keys()]).toEqual(expect.arrayContaining(series));
    const known = series.flatMap((name) => [...exposed.get(name)!]);
    expect([...known, ...MORE_LABELS]).toEqual(expect.arrayContaining(labels));
  });

  it('is all on the dashboard', () => {
    const shown = metricsOf(dashboardQueries.flatMap((query) => namesIn(query).series));
    const exported = [...exposed.keys()].filter((name) => name !== 'target_info');
    expect(shown).toEqual(metricsOf(exported));
  });

  it('is all documented, and nothing else is', () => {
    const [, page] = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8').split(
      '### Metrics',
    );
    const rows = page!.split('\n## ')[0]!.matchAll(/^\| (`[^|]+`) +\|/gm);
    const documented = [...rows].flatMap(([, names]) => names!.match(/[\w.]+/g) ?? []);
    const exported = [...text.matchAll(/^# TYPE (?!target_info)(\w+)/gm)].map(([, name]) => name!);
    expect(documented.map((name) => name.replaceAll('.', '_')).sort()).toEqual(
      [...metricsOf(exported)].sort(),
    );
  });
});

describe('the dashboard', () => {
  it('has a variable for where its data is, which each panel uses', () => {
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    );
    const datasource = { type: 'prometheus', uid: '${datasource}' };
    for (const panel of panels) expect(panel).toMatchObject({ datasource, targets: expect.anything() });
  });

  it('has rows for whether all is well, jobs, lateness, servers, dead letters and processes, and the outbox', () => {
    const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual([
      'All well?',
      'Jobs',
      'Lateness',
      'Nodes and ledger',
      'Dead letters and processes',
      'Outbox',
    ]);
  });

  it('chooses among all tubes, those without a consumer too', () => {
    const tube = dashboard.templating.list.find(({ name }) => name === 'tube');
    expect(tube?.query).toBe('label_values(dq_tube_jobs, messaging_destination_name)');
  });

  it('has thresholds and the way to the runbook in each number of its first row', () => {
    const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
    const headings = [...runbook.matchAll(/^## (Dq\w+)$/gm)].map(([, name]) => name!.toLowerCase());
    const first = dashboard.panels.slice(
      1,
      dashboard.panels.findLastIndex(({ type }) => type === 'stat') + 1,
    );
    expect(first.length).toBeGreaterThan(5);
    for (const { type, title, fieldConfig } of first) {
      expect([title, type]).toEqual([title, 'stat']);
      const { thresholds, links } = fieldConfig!.defaults;
      expect([title, thresholds?.steps.length]).toEqual([title, expect.any(Number)]);
      expect(thresholds!.steps.length).toBeGreaterThan(1);
      const [, anchor] = /\/docs\/runbook\.md#(\w+)$/.exec(links?.[0]?.url ?? '') ?? [];
      expect(headings).toContain(anchor);
    }
  });

  it('leads to the runbook, and to the dashboard of nest-dq', () => {
    expect(dashboard.links.map(({ url }) => url)).toEqual([
      'https://github.com/OWNER/nest-dq/blob/main/docs/runbook.md',
      '${dashboard}',
    ]);
    expect(dashboard.templating.list.map(({ name }) => name)).toContain('dashboard');
  });
});
