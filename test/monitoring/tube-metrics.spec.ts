import { beforeEach, describe, expect, it } from '@jest/globals';
import { MeterProvider, MetricReader, type DataPoint } from '@opentelemetry/sdk-metrics';
import type { DqClusterView, DqSeriesState, DqTubeCounts } from 'nest-dq/operate';
import { recordSeries, recordTubes } from 'nest-dq/src/telemetry/metrics.js';

class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

let reader: Reader;
let all: DqTubeCounts[] | undefined;
let series: DqSeriesState[] | undefined;

beforeEach(() => {
  reader = new Reader();
  const meter = new MeterProvider({ readers: [reader] }).getMeter('spec');
  [all, series] = [undefined, undefined];
  const view = { allTubes: () => all, allSeries: () => series } as DqClusterView;
  recordTubes(meter, { 'dq.cluster': 'shop' }, view);
  recordSeries(meter, { 'dq.cluster': 'shop' }, view);
});

/** The values that a reader gets, by `tube state` for jobs, and `tube metric` for the others. */
async function readValues(): Promise<Record<string, unknown>> {
  const { resourceMetrics } = await reader.collect();
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      (dataPoints as DataPoint<number>[]).map((point) => ({ ...point, metric: descriptor.name })),
    ),
  );
  return Object.fromEntries(
    points.map(({ metric, attributes, value }) => {
      expect(attributes['dq.cluster']).toBe('shop');
      const { 'messaging.destination.name': tube, 'dq.job.state': state } = attributes;
      return [`${String(tube)} ${String(state ?? metric.replace(/^dq\.(tube\.)?/, ''))}`, value];
    }),
  );
}

const MAIL: DqTubeCounts = {
  tube: 'mail',
  waiting: 5,
  due: 4,
  running: 3,
  dead: 2,
  paused: { since: new Date(0) },
  listed: 9,
  retrying: 2,
  overdueFor: 1_500,
  watching: 6,
};
const MAIL_TOLD = {
  'mail waiting': 5,
  'mail due': 4,
  'mail running': 3,
  'mail dead': 2,
  'mail paused': 1,
  'mail listed': 9,
  'mail retrying': 2,
  'mail overdue': 1.5,
  'mail watching': 6,
};
const MAIL_GONE = Object.fromEntries(Object.keys(MAIL_TOLD).map((name) => [name, 0]));

describe('the metrics of all tubes', () => {
  it('are nothing in a process that was never elected', async () => {
    all = undefined;
    expect(await readValues()).toEqual({});
  });

  it('are what the elected process saw last, without what is unknown', async () => {
    all = [MAIL, { tube: 'order', dead: 1 }, { tube: 'sms', watching: 3 }];
    const others = { 'order dead': 1, 'order paused': 0, 'sms watching': 3 };
    expect(await readValues()).toEqual({ ...MAIL_TOLD, ...others });
  });

  it.each<[string, DqTubeCounts[] | undefined]>([
    ['a tube is gone', []],
    ['another process is elected', undefined],
  ])('are 0 once %s', async (_what, then) => {
    all = [MAIL];
    await readValues();
    all = then;
    expect(await readValues()).toEqual(MAIL_GONE);
    all = [MAIL];
    expect(await readValues()).toEqual(MAIL_TOLD);
  });

  it('are of 300 tubes at most', async () => {
    all = Array.from({ length: 400 }, (_, i) => ({ tube: `t${i}`, watching: i }));
    expect(Object.keys(await readValues())).toHaveLength(300);
    all = Array.from({ length: 400 }, (_, i) => ({ tube: `u${i}`, watching: i }));
    expect(Object.keys(await readValues()).filter((name) => name.startsWith('u'))).toEqual([]);
  });
});

describe('the metrics of all series', () => {
  it('are nothing in a process that was never elected, or if there are none', async () => {
    expect(await readValues()).toEqual({});
    series = [];
    expect(await readValues()).toEqual({});
  });

  it('are how long each is overdue, and 0 once it is gone, or another process is elected', async () => {
    series = [
      { tube: 'report', overdueFor: 90_500 },
      { tube: 'cleanup', overdueFor: 0 },
    ];
    expect(await readValues()).toEqual({ 'report series.overdue': 90.5, 'cleanup series.overdue': 0 });
    series = [{ tube: 'report', overdueFor: 120_000 }];
    expect(await readValues()).toEqual({ 'report series.overdue': 120, 'cleanup series.overdue': 0 });
    series = undefined;
    expect(await readValues()).toEqual({ 'report series.overdue': 0, 'cleanup series.overdue': 0 });
  });
});
