import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Dashboard {
  readonly links: readonly { readonly url: string }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly thresholds?: { readonly steps: readonly { readonly value: number | null }[] };
      readonly links?: readonly { readonly url: string }[];
    };
  };
}

const folder = new URL('../../docs/monitoring/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');

const file = parse(read('alerts.yml')) as { groups: { rules: Rule[] }[] };
export const rules: readonly Rule[] = file.groups.flatMap((group) => group.rules);

export const dashboard = JSON.parse(read('dashboard.json')) as Dashboard;
/** All queries of the dashboard: of its panels, and of its variables. */
export const dashboardQueries: readonly string[] = [
  ...dashboard.panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr),
  ...dashboard.templating.list.map(({ query }) => query).filter((query) => isLabelQuery(query)),
];

function isLabelQuery(query: unknown): query is string {
  return typeof query === 'string' && query.startsWith('label_values(');
}

/** The series and the labels that a query of ours names. */
export function namesIn(query: string): { series: string[]; labels: string[] } {
  const labels: string[] = [];
  const note = (list: string) => {
    labels.push(...list.split(',').map((label) => label.trim().replace(/\W[^]*$/, '')));
    return ' ';
  };
  const rest = query
    .replace(/"[^"]*"/g, '""')
    .replace(/\{([^}]*)\}/g, (_, matchers: string) => note(matchers))
    .replace(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, list: string) => note(list))
    .replace(/^label_values\((.*),([^,]*)\)$/, (_, of: string, label: string) => of + note(label));
  return {
    series: rest.match(/\b(?:dq|messaging)_\w+/g) ?? [],
    labels: labels.filter((label) => label !== ''),
  };
}
