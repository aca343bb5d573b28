// The dashboard part of nest-kq fits the dashboard of nest-dq: the two packages do not load each other for it.
import type { KafkaCluster } from 'nest-dq/src/dashboard/kafka-cluster.js';
import { dashboardPart } from 'nest-kq/src/nest/kq-module.js';
import type { KqRuntime } from 'nest-kq/src/nest/runtime.js';

export const fits = (runtime: KqRuntime): KafkaCluster => dashboardPart(runtime);
