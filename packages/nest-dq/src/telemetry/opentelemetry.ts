/**
 * Metrics and traces. Only this entry needs the package `@opentelemetry/api`.
 * @module nest-dq/opentelemetry
 */
import type { DqHooks } from '../events/hooks.js';
import { recordMetrics } from './metrics.js';
import { carryTrace, spanAround } from './tracing.js';

/**
 * Metrics, spans and the context of traces: `DqModule.forRoot({ hooks: [openTelemetry()] })`. It uses the providers and the
 * propagator that are registered with OpenTelemetry before the application starts. If none is registered, it does nothing.
 * docs/observability.md lists all names.
 */
export function openTelemetry(): DqHooks {
  return { onSchedule: carryTrace, aroundHandler: spanAround, onStart: recordMetrics };
}
