# SPDX-License-Identifier: Apache-2.0
"""How Kafka's messages are laid out: name -> (key, first flexible version, request, response).

    name:type   `?` nullable, `?(2+)` only in those versions     `=x` default     `@4+` versions
    #1          a tagged field with that number                  {a, b} struct    [t] array
"""
MESSAGES = {
    "Produce": (0, 9, """
        transactional_id:str?=null, acks:i16, timeout_ms:i32,
        topic_data:[{name:str, partition_data:[{index:i32, records:records?}]}]""", """
        responses:[{name:str, partition_responses:[{index:i32, error_code:i16, base_offset:i64,
            log_append_time_ms:i64=-1, log_start_offset:i64=-1@5+,
            record_errors:[{batch_index:i32, batch_index_error_message:str?=null}]@8+,
            error_message:str?=null@8+,
            current_leader:{leader_id:i32=-1, leader_epoch:i32=-1}@10+ #0}]}],
        throttle_time_ms:i32,
        node_endpoints:[{node_id:i32, host:str, port:i32, rack:str?=null}]@10+ #0"""),
    "Fetch": (1, 12, """
        cluster_id:str?=null@12+ #0, replica_id:i32=-1@4-14,
        replica_state:{replica_id:i32=-1, replica_epoch:i64=-1}@15+ #1, max_wait_ms:i32,
        min_bytes:i32, max_bytes:i32=MAX32, isolation_level:i8, session_id:i32@7+,
        session_epoch:i32=-1@7+,
        topics:[{topic:str@4-12, topic_id:uuid@13+, partitions:[{partition:i32,
            current_leader_epoch:i32=-1@9+, fetch_offset:i64, last_fetched_epoch:i32=-1@12+,
            log_start_offset:i64=-1@5+, partition_max_bytes:i32}]}],
        forgotten_topics_data:[{topic:str@7-12, topic_id:uuid@13+, partitions:[i32]}]@7+,
        rack_id:str=""@11+""", """
        throttle_time_ms:i32, error_code:i16@7+, session_id:i32@7+,
        responses:[{topic:str@4-12, topic_id:uuid@13+, partitions:[{partition_index:i32,
            error_code:i16, high_watermark:i64, last_stable_offset:i64=-1,
            log_start_offset:i64=-1@5+,
            diverging_epoch:{epoch:i32=-1, end_offset:i64=-1}@12+ #0,
            current_leader:{leader_id:i32=-1, leader_epoch:i32=-1}@12+ #1,
            snapshot_id:{end_offset:i64=-1, epoch:i32=-1}@12+ #2,
            aborted_transactions:[{producer_id:i64, first_offset:i64}]?,
            preferred_read_replica:i32=-1@11+, records:records?}]}],
        node_endpoints:[{node_id:i32, host:str, port:i32, rack:str?=null}]@16+ #0"""),
    "ListOffsets": (2, 6, """
        replica_id:i32, isolation_level:i8@2+,
        topics:[{name:str, partitions:[{partition_index:i32, current_leader_epoch:i32=-1@4+,
            timestamp:i64}]}],
        timeout_ms:i32@10+""", """
        throttle_time_ms:i32@2+,
        topics:[{name:str, partitions:[{partition_index:i32, error_code:i16, timestamp:i64=-1,
            offset:i64=-1, leader_epoch:i32=-1@4+}]}]"""),
    "Metadata": (3, 9, """
        topics:[{topic_id:uuid@10+, name:str?(10+)}]?(1+), allow_auto_topic_creation:bool=true@4+,
        include_cluster_authorized_operations:bool@8-10,
        include_topic_authorized_operations:bool@8+""", """
        throttle_time_ms:i32@3+,
        brokers:[{node_id:i32, host:str, port:i32, rack:str?=null@1+}], cluster_id:str?=null@2+,
        controller_id:i32=-1@1+,
        topics:[{error_code:i16, name:str?(12+), topic_id:uuid@10+, is_internal:bool@1+,
            partitions:[{error_code:i16, partition_index:i32, leader_id:i32,
                leader_epoch:i32=-1@7+, replica_nodes:[i32], isr_nodes:[i32],
                offline_replicas:[i32]@5+}],
            topic_authorized_operations:i32=MIN32@8+}],
        cluster_authorized_operations:i32=MIN32@8-10"""),
    "FindCoordinator": (10, 3, """
        key:str@0-3, key_type:i8@1+, coordinator_keys:[str]@4+""", """
        throttle_time_ms:i32@1+, error_code:i16@0-3, error_message:str?=null@1-3, node_id:i32@0-3,
        host:str@0-3, port:i32@0-3,
        coordinators:[{key:str, node_id:i32, host:str, port:i32, error_code:i16,
            error_message:str?=null}]@4+"""),
    "ApiVersions": (18, 3, """
        client_software_name:str@3+, client_software_version:str@3+""", """
        error_code:i16, api_keys:[{api_key:i16, min_version:i16, max_version:i16}],
        throttle_time_ms:i32@1+,
        supported_features:[{name:str, min_version:i16, max_version:i16}]@3+ #0,
        finalized_features_epoch:i64=-1@3+ #1,
        finalized_features:[{name:str, max_version_level:i16, min_version_level:i16}]@3+ #2,
        zk_migration_ready:bool@3+ #3"""),
    "CreateTopics": (19, 5, """
        topics:[{name:str, num_partitions:i32, replication_factor:i16,
            assignments:[{partition_index:i32, broker_ids:[i32]}],
            configs:[{name:str, value:str?}]}],
        timeout_ms:i32=60000, validate_only:bool""", """
        throttle_time_ms:i32,
        topics:[{name:str, topic_id:uuid@7+, error_code:i16, error_message:str?,
            topic_config_error_code:i16@5+ #0, num_partitions:i32=-1@5+,
            replication_factor:i16=-1@5+,
            configs:[{name:str, value:str?, read_only:bool, config_source:i8=-1,
                is_sensitive:bool}]?@5+}]"""),
    "DeleteTopics": (20, 4, """
        topics:[{name:str?=null, topic_id:uuid}]@6+, topic_names:[str]@1-5, timeout_ms:i32""", """
        throttle_time_ms:i32,
        responses:[{name:str?(6+), topic_id:uuid@6+, error_code:i16,
            error_message:str?=null@5+}]"""),
    "InitProducerId": (22, 2, """
        transactional_id:str?, transaction_timeout_ms:i32, producer_id:i64=-1@3+,
        producer_epoch:i16=-1@3+""", """
        throttle_time_ms:i32, error_code:i16, producer_id:i64=-1, producer_epoch:i16"""),
    "OffsetForLeaderEpoch": (23, 4, """
        replica_id:i32=-2@3+,
        topics:[{topic:str, partitions:[{partition:i32, current_leader_epoch:i32=-1,
            leader_epoch:i32}]}]""", """
        throttle_time_ms:i32,
        topics:[{topic:str, partitions:[{error_code:i16, partition:i32, leader_epoch:i32=-1,
            end_offset:i64=-1}]}]"""),
    "DescribeConfigs": (32, 4, """
        resources:[{resource_type:i8, resource_name:str, configuration_keys:[str]?}],
        include_synonyms:bool@1+, include_documentation:bool@3+""", """
        throttle_time_ms:i32,
        results:[{error_code:i16, error_message:str?, resource_type:i8, resource_name:str,
            configs:[{name:str, value:str?, read_only:bool, is_default:bool@0,
                config_source:i8=-1@1+, is_sensitive:bool,
                synonyms:[{name:str, value:str?, source:i8}]@1+,
                config_type:i8@3+, documentation:str?@3+}]}]"""),
}
