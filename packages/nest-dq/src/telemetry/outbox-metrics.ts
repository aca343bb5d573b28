import { metrics, type BatchObservableCallback, type Meter } from '@opentelemetry/api';
import { SCOPE } from './names.js';

/** The part of a `DqOutbox` that `recordOutbox` reads. */
export interface RecordedOutbox {
  /** See `DqOutbox.state`. */
  state(): Promise<{ readonly waiting: number; readonly stuck: number; readonly oldestFor: number }>;
}

/**
 * Reports `dq.outbox.rows` and `dq.outbox.oldest`, by a query per reading. While the database doesn't answer, nothing is reported.
 * Returns a function that stops it.
 * @param meter Default: the one of the registered provider.
 */
export function recordOutbox(outbox: RecordedOutbox, meter: Meter = metrics.getMeter(SCOPE)): () => void {
  const rows = meter.createObservableGauge('dq.outbox.rows', {
    unit: '{row}',
    description: 'Rows of the outbox that wait to be relayed, or were set aside',
  });
  const oldest = meter.createObservableGauge('dq.outbox.oldest', {
    unit: 's',
    description: 'Age of the oldest row that waits to be relayed; 0 if none does',
  });
  const observe: BatchObservableCallback = async (result) => {
    const { waiting, stuck, oldestFor } = await outbox.state(); // OpenTelemetry logs a rejection
    result.observe(rows, waiting, { 'dq.outbox.state': 'waiting' });
    result.observe(rows, stuck, { 'dq.outbox.state': 'stuck' });
    result.observe(oldest, oldestFor / 1_000);
  };
  meter.addBatchObservableCallback(observe, [rows, oldest]);
  return () => meter.removeBatchObservableCallback(observe, [rows, oldest]);
}
