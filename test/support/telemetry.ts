import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { MeterProvider, MetricReader, type DataPoint } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** OpenTelemetry's own SDK, which keeps all it receives in memory. */
export class Telemetry {
  /** The spans that have ended. */
  readonly exporter = new InMemorySpanExporter();
  private reader = new Reader();

  /** Registers it for the whole process. */
  install(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.exporter)] }),
    );
    const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
    propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  }

  /** Forgets all spans, and restarts all counts. */
  reset(): void {
    this.exporter.reset();
    metrics.disable();
    this.reader = new Reader();
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [this.reader] }));
  }

  /** The values recorded under a name, each with its attributes. */
  async measured<T = number>(name: string): Promise<[Record<string, unknown>, T][]> {
    const { resourceMetrics } = await this.reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    const points = (all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ??
      []) as DataPoint<T>[];
    return points.map(({ attributes, value }) => [attributes, value]);
  }

  uninstall(): void {
    for (const api of [context, trace, propagation, metrics]) api.disable();
  }
}
